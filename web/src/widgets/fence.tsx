/* Error boundary: a page that throws shows the error, and navigation keeps working. */
import { Component, type ComponentChildren } from "preact";

export class Fence extends Component<{ children: ComponentChildren }, { fault: string | null }> {
  override state: { fault: string | null } = { fault: null };

  static override getDerivedStateFromError(error: unknown): { fault: string } {
    return { fault: error instanceof Error ? error.message : String(error) };
  }

  render() {
    if (this.state.fault === null) return this.props.children;
    return (
      <div class="failed" role="alert">
        <p class="title">This page cannot show what the server sent</p>
        <p>{this.state.fault}</p>
        <button type="button" class="button" onClick={() => this.setState({ fault: null })}>Try again</button>
      </div>
    );
  }
}
