import { Page } from "../widgets/parts";
import { Empty } from "../widgets/state";

export function Missing() {
  return <Page title="No such page"><Empty title="This address has no page"><p><a href="/">Back to the overview</a></p></Empty></Page>;
}
