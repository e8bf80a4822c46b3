/* GET /projects/{p}/quality: how triage judged the alerts, and how long each step took. */
export interface StepTimes { n: number; median_s: number | null; p90_s: number | null }
export interface QualityRow {
  alerts: number; confirmed: number; false_alarms: number; untriaged: number; withdrawn: number; recovered: number; precision: number | null;
  triage: StepTimes; culprit: StepTimes; fix: StepTimes;
}
export interface QualityReply {
  months: number; total: QualityRow; by_month: (QualityRow & { month: string })[]; by_kernel: (QualityRow & { kernel: string })[]; more_kernels: boolean; truncated: boolean;
}
