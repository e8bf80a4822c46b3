import { Page } from "../widgets/parts";
import { Empty } from "../widgets/state";

export function Missing() {
  return <Page title="No such page"><Empty title="Nothing lives at this address"><p><a href="/">Back to the overview</a></p></Empty></Page>;
}
