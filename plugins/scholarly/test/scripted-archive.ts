import {
  type FailureClass,
  type PublicationManifest,
  RemoteFailure,
  type RemoteFailureDetails,
  type ScholarlyAdapter,
  type SubmissionContext
} from '@svc/contracts'

type Submit = (manifest: PublicationManifest, context: SubmissionContext) => Promise<string> | string

/** Archive of a test: each submission runs the next step, which returns the status of the receipt; the last one repeats. */
export class ScriptedArchive implements ScholarlyAdapter {
  readonly name: string
  readonly aliases: readonly string[]
  readonly live: boolean
  readonly summary = 'Archive of a test'
  readonly intermediateStatuses = ['held']
  readonly steps: Submit[]
  /** Status that the next check answers, or an error that it throws. */
  remote: string | Error = 'held'
  problemNow: Awaited<ReturnType<ScholarlyAdapter['problem']>> = null
  submissions = 0

  constructor(steps: readonly Submit[] = [() => 'submitted'], options: { name?: string; live?: boolean } = {}) {
    this.steps = [...steps]
    this.name = options.name ?? 'test_archive'
    this.aliases = [`${this.name}_alias`]
    this.live = options.live ?? true
  }

  readonly problem = async () => this.problemNow

  readonly plan = async () => ({ steps: ['Send it'], files: [] })

  readonly submit = async (manifest: PublicationManifest, context: SubmissionContext) => {
    this.submissions += 1
    const step = this.steps.length > 1 ? this.steps.shift() : this.steps[0]
    const status = (await step?.(manifest, context)) ?? 'submitted'
    return {
      adapter: this.name,
      external_submission_id: `id-${manifest.content_sha3_256.slice(0, 8)}`,
      status,
      metadata_json: JSON.stringify({ doi: '10.5555/test', url: 'https://archive.example/1' })
    }
  }

  readonly fetchStatus = async () => {
    if (this.remote instanceof Error) throw this.remote
    return { status: this.remote }
  }
}

/** Step that fails. */
export function failing(
  failureClass: FailureClass,
  details: Partial<RemoteFailureDetails> = {},
  message = 'archive: no'
) {
  return (): never => {
    throw new RemoteFailure(message, { failureClass, code: `test_${failureClass}`, ...details })
  }
}
