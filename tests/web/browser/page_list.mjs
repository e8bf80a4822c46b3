// The pages of the dashboard: every view, and the forms of it that an address chooses.
const A = "0".repeat(40);

export const PAGES = {
  overview: "/", series_list: "/p/kernels/series", series: "/series/101",
  series_ratio: "/series/101?show=ratio&at=12b774678021", series_log_time: "/series/101?x=time&y=log", commits: "/p/kernels/commits",
  roofline: "/p/kernels/roofline", roofline_arrows: `/p/kernels/roofline?a=${A.slice(0, 12)}`,
  heatmap: "/p/kernels/heatmap", heatmap_k: "/p/kernels/heatmap?row=k&column=backend",
  coverage: "/p/kernels/coverage?row=100",
  plot: "/p/kernels/plot?select=gemm", plot_stacked: "/p/kernels/plot?layout=stacked&y=relative", plot_grouped: "/p/kernels/plot?group=dtype",
  nights: "/p/kernels/nights", night: `/p/kernels/nights/${"3f".repeat(16)}`,
  night_open: `/p/kernels/nights/${"3f".repeat(16)}?commit=12b774678021&series=${encodeURIComponent("gemm/f32/m64n64k64|time_ns|cpu-avx2")}`,
  commit: `/p/kernels/commit/${A}`, compare: `/compare?project=kernels&a=${A.slice(0, 12)}&b=${A}`, compare_open: `/compare?project=kernels&a=v1.2&b=main&verdict=inconclusive&backend_a=cpu-avx2&backend_b=cpu-avx512`,
  compare_map: `/compare?project=kernels&a=v1.2&b=main&map=1`,
  explain: `/explain?before=${"1".repeat(32)}&after=${"8".repeat(32)}&benchmark=gemm&backend=accel%3Apfc-server`, compare_form: "/compare",
  tokens: "/settings/tokens", notices: "/settings/notices?project=kernels", deliveries: "/settings/deliveries", browsers: "/settings/browsers", audit: "/settings/audit",
  owners: "/p/kernels/owners", detector: "/p/kernels/detector", quality: "/p/kernels/quality",
  alerts: "/alerts?project=kernels&view=alerts&state=all", groups: "/alerts?project=kernels&state=all", improvements: "/alerts?project=kernels&direction=improvement",
  group: "/groups/12", alert: "/alerts/31", jobs: "/jobs?project=kernels", schedules: "/p/kernels/schedules",
  suppressions: "/p/kernels/suppressions?rule=3", run: "/runs/1072", trace: "/runs/1072/traces/3", trace_part: "/runs/1072/traces/3?from=1990000&to=2030000&counters=1&points=1", trace_empty: "/runs/1072/traces/4", machines: "/machines", bisections: "/bisections", bisection: "/bisections/4",
};
