import type { Attestation, ContextEnvelope, TaskView } from '@svc/contracts'
import type { GateEvidence, GateInput, GateOutcome, GatePort } from '../state/ports.ts'
import type { GatheredEvidence } from './evidence.ts'
import { envelopeText, groundingOf } from './grounding.ts'
import { runGates } from './pipeline.ts'
import { inspectFiles } from './repository-files.ts'
import { repositoryPath } from './repository-path.ts'
import type { GateSettings } from './settings.ts'
import { detectTestCommand, runTests } from './test-command.ts'

export interface CompletionGatesParts {
  readonly settings: () => GateSettings
  /** Folder of the repository. */
  readonly root: string
  /** Stored trust of an agent in completing tasks; null where none of its tasks has ended. */
  readonly rollup: (agent: number) => number | null
  /** The merged envelope of a session; null where it has none, or nobody keeps them. */
  readonly envelope: (session: string) => Promise<ContextEnvelope | null>
  /** Told of what could not be looked up; the gates go on without it. */
  readonly warn: (message: string) => void
}

/** What a task has to pass before it is complete. Asking does no I/O: what must be looked up is gathered before. */
export class CompletionGates implements GatePort {
  readonly #parts: CompletionGatesParts

  constructor(parts: CompletionGatesParts) {
    this.#parts = parts
  }

  gather(task: TaskView, attestation: Attestation | undefined): Promise<GateEvidence> | null {
    const settings = this.#parts.settings()
    const paths = this.#paths(task, attestation, settings)
    const wantsEnvelope = task.qgate !== undefined && task.session_id !== undefined && weighsEvidence(settings)
    if (paths.length === 0 && !wantsEnvelope && !settings.behavioral_gate_on_complete) return null
    return this.#gather(task, paths, wantsEnvelope, settings)
  }

  run({ task, attestation, evidence, trust, now }: GateInput): GateOutcome {
    const settings = this.#parts.settings()
    const gathered = evidence as GatheredEvidence | null
    const claimed = attestation ?? null
    const grounding =
      task.qgate === undefined || !weighsEvidence(settings)
        ? null
        : groundingOf(task.qgate, claimed, gathered?.envelope ?? null)
    const rollup = this.#parts.rollup(task.agent_id)
    return runGates({ task, attestation: claimed, evidence: gathered, trust, rollup, grounding, settings }, now)
  }

  /** Files that were to be written and files that are claimed, each once; none where nobody looks into them. */
  #paths(task: TaskView, attestation: Attestation | undefined, settings: GateSettings): readonly string[] {
    const isLooked =
      settings.stubcheck_gate || settings.completion_markdown_link_audit_enabled || task.role === 'researcher'
    if (!isLooked) return []
    const paths = new Set((attestation?.artifact_paths ?? []).map(repositoryPath))
    for (const { path, access } of task.files) if (access === 'write') paths.add(repositoryPath(path))
    paths.delete('')
    return [...paths]
  }

  async #gather(
    task: TaskView,
    paths: readonly string[],
    wantsEnvelope: boolean,
    settings: GateSettings
  ): Promise<GatheredEvidence> {
    const { root } = this.#parts
    const links = settings.completion_markdown_link_audit_enabled
    const inspected = paths.length === 0 ? { files: [], brokenLinks: [] } : await inspectFiles(root, paths, { links })
    const envelope = wantsEnvelope ? await this.#envelope(task.session_id ?? '') : null
    if (!settings.behavioral_gate_on_complete) return { ...inspected, envelope }
    const command = settings.behavioral_gate_command ?? (await detectTestCommand(root))
    if (command === null) return { ...inspected, envelope }
    return { ...inspected, envelope, tests: await runTests(root, command) }
  }

  async #envelope(session: string): Promise<string | null> {
    try {
      const envelope = await this.#parts.envelope(session)
      return envelope === null ? null : envelopeText(envelope)
    } catch (error) {
      this.#parts.warn(`the envelope of session ${session} could not be read: ${String(error)}`)
      return null
    }
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
