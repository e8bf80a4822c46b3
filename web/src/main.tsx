import { render } from "preact";
import { startLive } from "./api/live";
import { startAccount } from "./api/scopes";
import { startIsolation } from "./base/isolate";
import { startLocation } from "./base/location";
import { startTheme } from "./base/theme";
import { startAhead } from "./views/ahead";
import { Shell } from "./views/shell";

startIsolation();
startTheme();
startLocation();
startAccount();
startLive();
startAhead();
const root = document.getElementById("app");
if (root) render(<Shell />, root);
