/** Reward of one event before any multiplier. */
export interface BaseValues {
  readonly xp: number
  readonly crystals: number
  readonly lumens: number
  /** Whether the event adds a streak shield. */
  readonly shield: boolean
}

export const NO_VALUES: BaseValues = { xp: 0, crystals: 0, lumens: 0, shield: false }

/** Experience, crystals, lumens, and `S` for a streak shield. Missing numbers are 0. */
type Row = readonly [xp: number, crystals?: number, lumens?: number, shield?: 'S']

/** Base values by type of event, as services.md 6.3 lists them. Combos are in combos.ts. */
const TABLE: Readonly<Record<string, Row>> = {
  task_completed: [50, 5],
  task_started: [5, 1],
  task_submitted: [8, 1],
  task_failed: [0],
  task_doubted: [10, 2],
  task_resolved: [20, 4],
  agent_spawned: [25, 2],
  agent_retired: [10],
  agent_idle: [0],
  agent_busy: [2],
  snapshot_captured: [30, 6],
  operation_undone: [5],
  operation_redone: [5],
  conflict_resolved: [100, 20, 10],
  plan_handoff: [40, 8],
  agent_handoff_accepted: [50, 10],
  peer_teach_session: [500, 100, 50],
  message_sent: [1],
  pr_merged: [200, 40, 15],
  code_reviewed: [100, 20, 10],
  issue_closed: [150, 30],
  helped_peer: [300, 60, 20],
  bounty_completed: [1000, 200, 50],
  refactor: [150, 30, 5],
  bug_fix: [200, 40, 8],
  test_pass: [55, 10],
  lint_clean: [30, 6],
  doc_added: [28, 6],
  build_completed: [25, 5],
  build_failed: [5],
  check_completed: [15, 3],
  check_failed: [3],
  test_fail: [10],
  fmt_completed: [2],
  fmt_applied: [2],
  diagnostics_clean: [5, 1],
  completion_accepted: [1],
  bundle_completed: [50, 10],
  build_clean: [60, 12],
  build_failed_then_fixed: [100, 20, 3],
  phoenix_bonus: [150, 30, 5],
  build_clean_streak_3: [200, 40, 0, 'S'],
  check_clean_first_try: [40, 8],
  test_suite_green: [250, 50, 0, 'S'],
  test_coverage_improved: [150, 30, 7],
  toestub_violations_fixed: [300, 60, 12],
  toestub_scan_clean: [10, 5],
  stub_check_debt: [0],
  doc_coverage_100_pct: [1000, 200, 100],
  missing_docs_zero: [500, 100, 40],
  ai_thumbs_up: [20, 4],
  ai_thumbs_down: [15, 3],
  ai_example_written: [200, 40],
  ai_example_accepted: [1000, 200, 25],
  populi_corpus_contributed: [500, 100, 15],
  populi_inference_run: [5, 1],
  populi_finetune_epoch: [2000, 400],
  mens_flywheel_triggered: [200, 40, 10],
  vox_example_created: [200, 40],
  vox_example_canonical: [5000, 1000, 500],
  migration_applied: [100, 20],
  seed_completed: [50, 10],
  web_page_rendered: [20, 4],
  v0_import_complete: [150, 30],
  openapi_spec_generated: [100, 20],
  scheduled_job_ran: [40, 8],
  turso_query_executed: [10, 2],
  mcp_tool_called: [15, 3],
  mcp_tool_registered: [300, 60],
  pkg_published: [1500, 300],
  pkg_installed: [20, 4],
  workflow_completed: [1200, 240],
  checkpoint_saved: [50, 10],
  actor_message_sent: [5, 1],
  actor_spawned: [60, 12],
  security_review_passed: [1500, 300, 50],
  perf_regression_caught: [800, 160, 25],
  unsafe_removed: [400, 80, 15],
  collegium_created: [200, 40],
  collegium_joined: [100, 20],
  arena_joined: [50, 10],
  continuation_triggered: [10, 2],
  cost_incurred: [0],
  scope_violation: [0],
  lock_acquired: [0],
  lock_released: [0]
}

/** Features of the language server; the use of one is an event such as `lsp_hover_used`. */
const LSP_FEATURES = [
  'call_hierarchy',
  'code_action',
  'code_lens',
  'completion',
  'definition',
  'diagnostic',
  'document_highlight',
  'document_symbol',
  'execute_command',
  'folding_range',
  'formatting',
  'hover',
  'implementation',
  'inlay_hint',
  'references',
  'rename',
  'selection_range',
  'semantic_tokens',
  'signature_help',
  'type_definition',
  'workspace_symbol'
] as const
const LSP_VALUES: Row = [1]

const VALUES: ReadonlyMap<string, BaseValues> = new Map(
  [...Object.entries(TABLE), ...LSP_FEATURES.map(feature => [`lsp_${feature}_used`, LSP_VALUES] as const)].map(
    ([type, [xp, crystals = 0, lumens = 0, shield]]) => [type, { xp, crystals, lumens, shield: shield === 'S' }]
  )
)

export const EVENT_TYPES: readonly string[] = [...VALUES.keys()]

/** Returns the base values of a type of event; null for an unknown type. */
export function baseValues(type: string): BaseValues | null {
  return VALUES.get(type) ?? null
}

/** Types that occur often by themselves, so that their rewards fall sooner. */
export const NOISY_TYPES: ReadonlySet<string> = new Set([
  'mcp_tool_called',
  'message_sent',
  'actor_message_sent',
  'build_completed',
  'task_submitted',
  'lock_acquired',
  'lock_released',
  'snapshot_captured'
])
