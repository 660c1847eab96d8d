import type { BuiltInSkill, DeclaredSecretResolver, SkillsGateway } from '@svc/contracts'
import { errorMessage, isSvcError, withTimeout } from '@svc/plugin-sdk'
import { openclawErrors } from '../errors.ts'
import type { Settings } from '../settings.ts'
import { findContainerRuntime, MAX_OUTPUT_BYTES, maskValues, runInContainer } from './container.ts'
import type { SkillKind, SkillRecord, SkillTrust } from './record.ts'
import { scriptOf } from './script.ts'
import type { SkillStore } from './store.ts'

/**
 * Where a skill ran: `none` for a document, whose text is the output; `process` for a built-in skill; `container`; or
 * `gateway`.
 */
export type SkillIsolation = 'none' | 'process' | 'container' | 'gateway'

export interface SkillResult {
  readonly slug: string
  readonly kind: SkillKind
  readonly trust: SkillTrust
  readonly isolation: SkillIsolation
  readonly output: string
  /** Standard error of a container; empty for others. */
  readonly errors: string
  /** Exit code of the program in a container; null for others. */
  readonly exit_code: number | null
}

export interface RunnerParts {
  readonly settings: Settings
  readonly store: SkillStore
  readonly gateway: Pick<SkillsGateway, 'execute'>
  readonly secrets: DeclaredSecretResolver | undefined
  readonly builtIns: () => readonly BuiltInSkill[]
  /** Folders in which container runtimes are looked for. */
  readonly folders: readonly string[]
  readonly environment: NodeJS.ProcessEnv
}

/** Runs installed skills after their approval, and built-in skills. */
export class SkillRunner {
  readonly #parts: RunnerParts

  constructor(parts: RunnerParts) {
    this.#parts = parts
  }

  /**
   * Runs a skill. A document returns its text. The script of a tool or shell skill runs in a container and reads `input`
   * from its standard input; without a container runtime, the gateway runs the skill. Throws `SKG_NOT_INSTALLED`,
   * `SKG_UNTRUSTED`, `SKG_NOT_APPROVED`, `SKG_SECRET_MISSING`, `SKG_SANDBOX_UNAVAILABLE`, `SKG_SKILL_INVALID`,
   * `SKG_RUN_FAILED`, `SKG_RUN_LIMIT` and errors of the gateway.
   */
  async run(slug: string, input: string, signal: AbortSignal): Promise<SkillResult> {
    const builtIn = this.#parts.builtIns().find(each => each.slug === slug)
    if (builtIn !== undefined) return this.#runBuiltIn(builtIn, input, signal)
    const { store } = this.#parts
    const record = await store.get(slug)
    assertRunnable(record)
    const text = await store.text(record)
    const result = { slug, kind: record.kind, trust: record.trust }
    if (record.kind === 'document') return { ...result, isolation: 'none', output: text, errors: '', exit_code: null }
    const script = scriptOf(slug, text)
    const secrets = await this.#secretsOf(record, signal)
    const { settings, folders, environment } = this.#parts
    const runtime = await findContainerRuntime(settings.container_runtime, folders, environment)
    if (runtime === null) return { ...result, ...(await this.#delegate(record, input, signal)) }
    const isShell = record.kind === 'shell'
    const { exitCode, stdout, stderr } = await runInContainer(
      runtime,
      {
        image: isShell ? settings.shell_image : settings.tool_image,
        command: isShell ? ['sh', '-c', script] : ['node', '--input-type=module', '--eval', script],
        input,
        environment: secrets,
        timeoutMs: settings.skill_timeout_ms
      },
      environment,
      signal
    )
    const [output, errors] = [maskValues(stdout, secrets), maskValues(stderr, secrets)]
    return { ...result, isolation: 'container', output, errors, exit_code: exitCode }
  }

  async #runBuiltIn(skill: BuiltInSkill, input: string, signal: AbortSignal): Promise<SkillResult> {
    const { slug, text, run } = skill
    const common = { slug, trust: 'trusted', errors: '', exit_code: null } as const
    if (run === undefined) return { ...common, kind: 'document', isolation: 'none', output: text }
    const timeoutMs = this.#parts.settings.skill_timeout_ms
    const error = (): Error => openclawErrors.create('SKG_RUN_LIMIT', `${slug} took longer than ${timeoutMs} ms`)
    const output = await withTimeout(timeoutMs, limited => run.call(skill, input, limited), { signal, error })
    if (Buffer.byteLength(output) > MAX_OUTPUT_BYTES)
      throw openclawErrors.create('SKG_RUN_LIMIT', `${slug} returned more than ${MAX_OUTPUT_BYTES} bytes`)
    return { ...common, kind: 'tool', isolation: 'process', output }
  }

  /** Has the gateway run its copy of the skill. The gateway receives no secrets. */
  async #delegate(
    { slug }: SkillRecord,
    input: string,
    signal: AbortSignal
  ): Promise<Pick<SkillResult, 'isolation' | 'output' | 'errors' | 'exit_code'>> {
    try {
      const payload = await this.#parts.gateway.execute({ skill: slug, command: input, sandbox: true }, signal)
      const output = typeof payload === 'string' ? payload : JSON.stringify(payload)
      return { isolation: 'gateway', output, errors: '', exit_code: null }
    } catch (error) {
      if (!isSvcError(error, 'SKG_UNREACHABLE')) throw error
      throw openclawErrors.create(
        'SKG_SANDBOX_UNAVAILABLE',
        `${slug} does not run: neither docker nor podman responds, and there is no gateway (${errorMessage(error)})`,
        { hint: 'start docker or podman, or the gateway: svc openclaw sidecar start', cause: error }
      )
    }
  }

  async #secretsOf({ slug, secrets }: SkillRecord, signal: AbortSignal): Promise<Record<string, string>> {
    const values: Record<string, string> = {}
    for (const name of secrets) {
      try {
        if (this.#parts.secrets === undefined) throw new Error('the plugin secrets is not enabled')
        values[name] = await this.#parts.secrets.resolve(name, signal)
      } catch (error) {
        signal.throwIfAborted()
        throw openclawErrors.create(
          'SKG_SECRET_MISSING',
          `${slug} requests the secret ${name}: ${errorMessage(error)}`,
          {
            hint: 'check it: svc secrets doctor',
            cause: error
          }
        )
      }
    }
    return values
  }
}

/** Throws `SKG_UNTRUSTED` for an untrusted skill, which can be neither approved nor run. */
export function assertTrusted({ slug, trust, source }: SkillRecord): void {
  if (trust !== 'untrusted') return
  throw openclawErrors.create('SKG_UNTRUSTED', `${slug} of ${source} is untrusted`, {
    hint: `if you trust its source: svc openclaw trust ${slug} community`
  })
}

/** Throws `SKG_UNTRUSTED` and `SKG_NOT_APPROVED`. */
export function assertRunnable(record: SkillRecord): void {
  assertTrusted(record)
  const { slug, approval, approval_id } = record
  if (approval === 'approved') return
  const state = approval === 'denied' ? 'was denied' : 'was not approved yet'
  throw openclawErrors.create('SKG_NOT_APPROVED', `${slug} ${state}`, {
    hint: `a person reads and approves it: svc openclaw approvals, svc openclaw approve ${approval_id}`
  })
}
