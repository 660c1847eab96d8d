import type { Capability } from '#interpreter'
import type { BridgeAnswers } from '#threads'
import { runInThread, type ThreadResult } from '#worker'
import { LIMITS, programFrom } from './run-program.ts'

export interface BodyOptions {
  readonly capabilities: readonly Capability[]
  readonly milliseconds?: number
  /** Request handlers of other plugins. */
  readonly services?: BridgeAnswers
}

export interface RanBody {
  readonly ending: ThreadResult
  readonly lines: readonly string[]
  /** Failures of the host that were reported. */
  readonly failures: readonly unknown[]
}

/** Runs the body of a `main` in a separate thread, as `svc run` does. */
export async function runBody(
  body: string,
  { capabilities, milliseconds = 20_000, services }: BodyOptions
): Promise<RanBody> {
  const lines: string[] = []
  const failures: unknown[] = []
  const ending = await runInThread(
    {
      program: programFrom(`fn main() {\n${body}\n}\n`),
      limits: { ...LIMITS, milliseconds },
      capabilities,
      seed: null,
      args: [],
      work: { kind: 'run' },
      database: null
    },
    { print: line => void lines.push(line), report: () => undefined, failed: error => failures.push(error) },
    new AbortController().signal,
    null,
    services
  )
  return { ending, lines, failures }
}
