/** Developer journeys, including the canonical one. */
export const journeyTables = `
CREATE TABLE IF NOT EXISTS developer_journey_definitions (
  journey_id TEXT PRIMARY KEY,
  version INTEGER NOT NULL,
  title TEXT NOT NULL,
  description TEXT NOT NULL DEFAULT '',
  definition_json TEXT NOT NULL DEFAULT '{}',
  created_at TEXT NOT NULL DEFAULT (datetime('now'))
);
CREATE TABLE IF NOT EXISTS developer_journey_steps (
  journey_id TEXT NOT NULL REFERENCES developer_journey_definitions (journey_id) ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,
  step_id TEXT NOT NULL,
  step_json TEXT NOT NULL,
  PRIMARY KEY (journey_id, ordinal)
);
CREATE INDEX IF NOT EXISTS developer_journey_steps_journey ON developer_journey_steps (journey_id);
`

export const CANONICAL_JOURNEY = 'canonical_journey.v1.greenfield_vox_mens_devloop'

interface JourneyStep {
  readonly step_id: string
  readonly actor: 'human' | 'runtime' | 'mcp' | 'ci'
  readonly primary_operation_id: string
  readonly maturity: 'stable' | 'beta'
  readonly limitation_ids: readonly string[]
}

const step = (
  step_id: string,
  actor: JourneyStep['actor'],
  primary_operation_id: string,
  maturity: JourneyStep['maturity'],
  ...limitation_ids: readonly string[]
): JourneyStep => ({ step_id, actor, primary_operation_id, maturity, limitation_ids })

const STEPS: readonly JourneyStep[] = [
  step('bootstrap_repo', 'human', 'vox', 'stable', 'L-021'),
  step('open_workspace_store', 'runtime', 'orch.workspace_journey', 'stable', 'L-021', 'L-023'),
  step('author_compile', 'human', 'vox.build', 'stable', 'L-001', 'L-003'),
  step('structured_plan', 'human', 'vox.mens.plan', 'beta', 'L-010', 'L-014', 'L-015'),
  step('agentic_assist', 'mcp', 'vox_mcp', 'beta', 'L-022', 'L-025'),
  step('research_evidence', 'human', 'vox.research', 'beta', 'L-016', 'L-017'),
  step('corpus_train', 'human', 'vox.mens.train', 'beta', 'L-005', 'L-006', 'L-007'),
  step('verify_ship', 'ci', 'vox.ci', 'stable', 'L-028', 'L-029')
]

/** Returns idempotent statements that insert the initial rows. */
export function seedStatements(): { readonly sql: string; readonly parameters: readonly (string | number)[] }[] {
  const definition = JSON.stringify({ journey_id: CANONICAL_JOURNEY, version: 1, steps: STEPS.length })
  return [
    {
      sql: `INSERT OR IGNORE INTO developer_journey_definitions (journey_id, version, title, description, definition_json)
        VALUES (?, 1, ?, ?, ?)`,
      parameters: [
        CANONICAL_JOURNEY,
        'From an empty repository to a shipped change',
        'The steps of a developer with a plan, assistance, evidence, training and checks.',
        definition
      ]
    },
    ...STEPS.map((step, index) => ({
      sql: 'INSERT OR IGNORE INTO developer_journey_steps (journey_id, ordinal, step_id, step_json) VALUES (?, ?, ?, ?)',
      parameters: [CANONICAL_JOURNEY, index + 1, step.step_id, JSON.stringify({ ordinal: index + 1, ...step })]
    }))
  ]
}
