/* When a queued job is expected to begin, in words. */
import { formatDuration } from "./format";

interface Wait { seconds: number; low: number; high: number }

/** "next", "about 5 min", "2 min to 9 min"; empty when there is no estimate. */
export function formatWait(wait: Wait | null | undefined): string {
  if (!wait) return "";
  if (wait.high < 1) return "next";
  const low = round(wait.low);
  const high = round(wait.high);
  return low === high ? `in about ${formatDuration(low)}` : `in ${formatDuration(low)} to ${formatDuration(high)}`;
}

/* The estimate is not precise enough for two figures. */
function round(seconds: number): number {
  const step = seconds < 60 ? 5 : seconds < 600 ? 60 : seconds < 3600 ? 300 : seconds < 36000 ? 1800 : 3600;
  return Math.round(seconds / step) * step;
}
