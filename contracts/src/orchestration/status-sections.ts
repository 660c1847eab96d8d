import { point } from '@svc/plugin-sdk'

/**
 * Sections of `svc_orchestrator_status`, one field each. The plugin `orchestrator-tools` contributes `planning`,
 * `orchestration_migration`, `attention_budget` and `persistence_outbox_lifecycle`. A section that throws, or takes
 * longer than 2 s, shows `{ ok: false, error }`.
 */
export const statusSections = point<StatusSection>('orchestrator.status-sections', { keys: section => [section.key] })

export interface StatusSection {
  /** Name of the field. Fields of the orchestrator itself take precedence. */
  readonly key: string
  read(signal: AbortSignal): unknown
}
