import type { Attestation, CompletionGate, ContextEnvelope, StubScanner, TaskView } from '@svc/contracts'
import { errorMessage } from '@svc/plugin-sdk'
import { approvalGate } from './approval.ts'
import { behavioralGate } from './behavioral.ts'
import { docLinksGate } from './doc-links.ts'
import type { GatheredEvidence } from './evidence.ts'
import type { Gate } from './gate.ts'
import { envelopeText, type Grounding, groundingGate, groundingOf } from './grounding.ts'
import { harnessGate } from './harness.ts'
import { qgateGate } from './qgate.ts'
import { inspectFiles } from './repository-files.ts'
import { repositoryPath } from './repository-path.ts'
import { researchGate } from './research.ts'
import type { GateSettings } from './settings.ts'
import { stubcheckGate } from './stubcheck.ts'
import { detectTestCommand, MAX_RUN_MS, runTests } from './test-command.ts'
import { trustGate } from './trust.ts'

/** Built-in gates, in evaluation order. */
export const BUILT_IN_GATES: readonly Gate[] = [
  behavioralGate,
  researchGate,
  approvalGate,
  trustGate,
  harnessGate,
  stubcheckGate,
  docLinksGate,
  qgateGate,
  groundingGate
]

export interface BuiltInGateOptions {
  readonly settings: () => GateSettings
  /** Folder of the repository. */
  readonly root: string
  /** Resolves to the merged envelope of a session; null if it has none. */
  readonly envelope: (session: string) => Promise<ContextEnvelope | null>
  /** Scanner for placeholders; undefined while no plugin provides one. */
  readonly scanner: () => StubScanner | undefined
  /** Reports a failed lookup; the gates continue without its result. */
  readonly warn: (message: string) => void
}

/**
 * Returns the built-in gates, with `order` 100 to 900. For each completion they share one lookup of files, envelope and
 * tests.
 */
export function builtInGates(options: BuiltInGateOptions): readonly CompletionGate<GatheredEvidence>[] {
  const lookups = new WeakMap<TaskView, Promise<GatheredEvidence> | null>()
  const groundings = new WeakMap<TaskView, Grounding | null>()
  const gather = (task: TaskView, attestation: Attestation | null): Promise<GatheredEvidence> | null => {
    const known = lookups.get(task)
    if (known !== undefined) return known
    const made = lookUp(task, attestation, options)
    lookups.set(task, made)
    return made
  }
  const groundingFor = (task: TaskView, attestation: Attestation | null, evidence: GatheredEvidence | null) => {
    if (task.qgate === undefined || !weighsEvidence(options.settings())) return null
    const known = groundings.get(task)
    if (known !== undefined) return known
    const made = groundingOf(task.qgate, attestation, evidence?.envelope ?? null)
    groundings.set(task, made)
    return made
  }
  return BUILT_IN_GATES.map((gate, at) => ({
    name: gate.name,
    order: 100 * (at + 1),
    counter: gate.counter,
    // Longer than the time limit of the project's tests, which applies first.
    gatherTimeoutMs: 2 * MAX_RUN_MS,
    gather,
    ask: ({ task, attestation, trust, rollup, evidence }) =>
      gate.ask({
        task,
        attestation,
        evidence,
        trust,
        rollup,
        grounding: groundingFor(task, attestation, evidence),
        settings: options.settings()
      }),
    heading: iteration => gate.heading(iteration)
  }))
}

/** Gathers the evidence of all gates. Returns null if no gate needs any. */
function lookUp(
  task: TaskView,
  attestation: Attestation | null,
  options: BuiltInGateOptions
): Promise<GatheredEvidence> | null {
  const settings = options.settings()
  const paths = pathsToInspect(task, attestation, settings)
  const wantsEnvelope = task.qgate !== undefined && task.session_id !== undefined && weighsEvidence(settings)
  if (paths.length === 0 && !wantsEnvelope && !settings.behavioral_gate_on_complete) return null
  return gatherEvidence(task, paths, wantsEnvelope, options)
}

/** Returns the paths that the task should write or that the attestation names; none if no gate inspects files. */
function pathsToInspect(task: TaskView, attestation: Attestation | null, settings: GateSettings): readonly string[] {
  const isInspected =
    settings.stubcheck_gate || settings.completion_markdown_link_audit_enabled || task.role === 'researcher'
  if (!isInspected) return []
  const paths = new Set((attestation?.artifact_paths ?? []).map(repositoryPath))
  for (const { path, access } of task.files) if (access === 'write') paths.add(repositoryPath(path))
  paths.delete('')
  return [...paths]
}

async function gatherEvidence(
  task: TaskView,
  paths: readonly string[],
  wantsEnvelope: boolean,
  options: BuiltInGateOptions
): Promise<GatheredEvidence> {
  const { root } = options
  const settings = options.settings()
  const links = settings.completion_markdown_link_audit_enabled
  const inspected =
    paths.length === 0
      ? { files: [], brokenLinks: [] }
      : await inspectFiles(root, paths, { links, scanner: options.scanner() })
  const envelope = wantsEnvelope ? await readEnvelope(task.session_id ?? '', options) : null
  if (!settings.behavioral_gate_on_complete) return { ...inspected, envelope }
  const command = settings.behavioral_gate_command ?? (await detectTestCommand(root))
  if (command === null) return { ...inspected, envelope }
  return { ...inspected, envelope, tests: await runTests(root, command) }
}

async function readEnvelope(session: string, { envelope, warn }: BuiltInGateOptions): Promise<string | null> {
  try {
    const read = await envelope(session)
    return read === null ? null : envelopeText(read)
  } catch (error) {
    warn(`session ${session}: its envelope could not be read: ${errorMessage(error)}`)
    return null
  }
}

function weighsEvidence(settings: GateSettings): boolean {
  return (
    settings.qgate_gate_enforce ||
    settings.qgate_gate_shadow ||
    settings.completion_grounding_enforce ||
    settings.completion_grounding_shadow
  )
}
