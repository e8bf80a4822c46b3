export const traceWalks = {};
