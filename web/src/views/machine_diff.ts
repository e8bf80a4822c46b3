/** Names of the fields that differ between two fingerprints, sorted; absent on one side counts as different. */
export function changedFields(a: Record<string, string>, b: Record<string, string>): string[] {
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].filter((k) => a[k] !== b[k]).sort();
}
