import type { Orchestrator, StatusSection } from '@svc/contracts'
import { errorMessage, withTimeout } from '@svc/plugin-sdk'

const READ_MS = 2_000

export function ownSections(orchestrator: Orchestrator): readonly StatusSection[] {
  return [
    { key: 'planning', read: () => ({ ...orchestrator.policy.planning }) },
    { key: 'orchestration_migration', read: () => ({ ...orchestrator.policy.migration }) },
    { key: 'attention_budget', read: () => ({ ...orchestrator.attention.state() }) },
    { key: 'persistence_outbox_lifecycle', read: () => ({ ...orchestrator.status().outbox }) }
  ]
}

/** Reads all sections concurrently. A section that throws or times out contains its error. */
export async function readSections(
  sections: readonly StatusSection[],
  signal: AbortSignal
): Promise<Readonly<Record<string, unknown>>> {
  const read = async ({ key, read }: StatusSection): Promise<readonly [key: string, value: unknown]> => {
    try {
      return [key, await withTimeout(READ_MS, async limited => read(limited), { signal })]
    } catch (error) {
      return [key, { ok: false, error: errorMessage(error) }]
    }
  }
  return Object.fromEntries(await Promise.all(sections.map(read)))
}
