import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { hostname } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { withFileLock } from '@svc/contracts'
import { errorMessage, isSvcError } from '@svc/plugin-sdk'
import { openclawErrors } from '../errors.ts'
import { childEnvironment } from './environment.ts'
import { locateProgram, SIDECAR_NAME } from './locate.ts'
import {
  readState,
  removeState,
  type SidecarState,
  sidecarPresence,
  sidecarStatePath,
  stateOf,
  writeState
} from './state-file.ts'
import { stopProcess } from './stop-process.ts'

/** Maximum wait for another process that starts or stops the sidecar, in milliseconds. */
const LOCK_WAIT_MS = 30_000

export interface SidecarOptions {
  readonly projectRoot: string
  /** Folders in which the program is looked for. */
  readonly folders: readonly string[]
  readonly environment: NodeJS.ProcessEnv
  readonly disabled: boolean
  readonly maxAttempts: number
  /** Delay before the first probe, in milliseconds. Doubles for each further probe, up to {@link MAX_BACKOFF_MS}. */
  readonly backoffMs: number
  /** Returns whether the gateway accepts a connection. Must limit its time itself. */
  readonly probe: (signal: AbortSignal | undefined) => Promise<boolean>
  /** Runs the function that starts the process, so that the process outlives the plugin. Default: runs it. */
  readonly launch?: <A>(start: () => A) => Promise<A>
}

export interface SidecarStatus {
  readonly running: boolean
  /** Path of the program; null if it is not installed. */
  readonly binary: string | null
  readonly pid: number | null
  readonly started_unix_ms: number | null
  readonly state_file: string
  readonly disabled: boolean
}

export interface SidecarStart {
  /** True if this call started the process. */
  readonly started: boolean
  /** True if the sidecar, or another gateway at its address, ran before. */
  readonly running_prior: boolean
  /** Number of probes. */
  readonly attempts: number
  /** Whether the last probe succeeded. */
  readonly reachable: boolean
  readonly binary: string | null
  /** Null for a gateway that is not this sidecar. */
  readonly pid: number | null
}

/** Maximum delay between two probes, in milliseconds. */
const MAX_BACKOFF_MS = 30_000
/** Time limit for `--version`, in milliseconds. */
const VERSION_MS = 5_000
/** Maximum characters of a version. */
const MAX_VERSION_CHARS = 200

/**
 * Gateway process on this machine. It is started only by {@link Sidecar.start}, outlives svc, and is recorded in a state
 * file, so that every svc of the project finds it.
 */
export class Sidecar {
  readonly statePath: string
  readonly #options: SidecarOptions

  constructor(options: SidecarOptions) {
    this.#options = options
    this.statePath = sidecarStatePath(options.projectRoot)
  }

  locate(): Promise<string | null> {
    return locateProgram(SIDECAR_NAME, this.#options.folders)
  }

  async status(): Promise<SidecarStatus> {
    const state = this.#running()
    return {
      running: state !== null,
      binary: await this.locate(),
      pid: state?.pid ?? null,
      started_unix_ms: state?.started_unix_ms ?? null,
      state_file: this.statePath,
      disabled: this.#options.disabled
    }
  }

  /** Returns the first line that the program prints for `--version`; null if it fails or takes too long. */
  version(binary: string): Promise<string | null> {
    const options = {
      timeout: VERSION_MS,
      killSignal: 'SIGKILL',
      maxBuffer: 65_536,
      env: childEnvironment(this.#options.environment)
    } as const
    return new Promise(resolve => {
      execFile(binary, ['--version'], options, (error, stdout) => {
        const line = stdout.split('\n')[0]?.trim().slice(0, MAX_VERSION_CHARS)
        resolve(error === null && line ? line : null)
      })
    })
  }

  /**
   * Starts the sidecar, or reuses the one that runs, and probes it. Throws `SKG_SIDECAR_DISABLED`,
   * `SKG_SIDECAR_MISSING` and `SKG_SIDECAR_FAILED`. A sidecar that runs but does not respond is not an error: it may
   * need longer, and stays.
   */
  async start(signal?: AbortSignal): Promise<SidecarStart> {
    if (this.#options.disabled)
      throw openclawErrors.create('SKG_SIDECAR_DISABLED', `${SIDECAR_NAME} is not started: it is disabled`, {
        at: { path: 'plugins.openclaw.sidecar_disabled' },
        hint: 'unset SVC_EXTGW_SIDECAR_DISABLE and sidecar_disabled in [plugins.openclaw]'
      })
    const { state, child } = await this.#locked(signal, () => this.#reuseOrSpawn(signal))
    const binary = state?.binary_path ?? (await this.locate())
    if (state === null) return { started: false, running_prior: true, attempts: 1, reachable: true, binary, pid: null }
    const { attempts, reachable } = await this.#probe(state, child, signal)
    return { started: child !== null, running_prior: child === null, attempts, reachable, binary, pid: state.pid }
  }

  /** Ends the sidecar: with SIGTERM, after 5 seconds with SIGKILL. Throws `SKG_SIDECAR_FAILED`. */
  stop(signal?: AbortSignal): Promise<{ readonly stopped: boolean; readonly pid: number | null }> {
    return this.#locked(signal, async () => {
      const recorded = this.#recorded()
      if (recorded !== null && recorded !== 'invalid' && isElsewhere(recorded))
        throw this.#failed(`the sidecar runs on ${recorded.host}`, 'stop it there')
      const state = this.#running()
      if (state !== null && !(await stopProcess(state, () => sidecarPresence(state) === 'dead')))
        throw this.#failed(`process ${state.pid} of ${state.binary_path} did not end`, 'end the process yourself')
      removeState(this.statePath)
      return { stopped: state !== null, pid: state?.pid ?? null }
    })
  }

  /** Returns the state of the running sidecar; null if none runs. */
  #running(): SidecarState | null {
    const state = this.#recorded()
    if (state === null || state === 'invalid') return null
    return sidecarPresence(state) === 'alive' ? state : null
  }

  #recorded(): ReturnType<typeof readState> {
    try {
      return readState(this.statePath)
    } catch (error) {
      throw this.#failed(errorMessage(error), 'correct the permissions of the file', error)
    }
  }

  /** Returns the running sidecar, or a new one with its process. Null as state: another gateway already responds. */
  async #reuseOrSpawn(
    signal: AbortSignal | undefined
  ): Promise<{ readonly state: SidecarState | null; readonly child: ChildProcess | null }> {
    const running = this.#running()
    if (running !== null) return { state: running, child: null }
    removeState(this.statePath)
    // The port would be in use. It is also a sidecar whose svc was killed before it wrote the state file.
    if (await this.#options.probe(signal)) return { state: null, child: null }
    const binary = await this.locate()
    if (binary === null)
      throw openclawErrors.create(
        'SKG_SIDECAR_MISSING',
        `${SIDECAR_NAME} is not installed: it is not in ${this.#options.folders.slice(0, 4).join(', ')} or another folder of PATH`,
        { hint: `install it to ~/.vox/bin, or start a gateway yourself and set SVC_EXTGW_URL` }
      )
    signal?.throwIfAborted()
    return this.#spawn(binary)
  }

  async #spawn(binary: string): Promise<{ readonly state: SidecarState; readonly child: ChildProcess }> {
    const { launch = async start => start() } = this.#options
    const { child, state, failure, problem } = await launch(() => this.#launch(binary))
    if (state === null) {
      const error = await failure
      throw this.#failed(`${binary}: ${error.message}`, 'check that the file is a program for this system', error)
    }
    if (problem === undefined) return { state, child }
    // Without a record, no svc could stop it.
    await stopProcess(state, () => child.exitCode !== null || child.signalCode !== null)
    throw this.#failed(errorMessage(problem), 'free space, or correct the permissions of the folder', problem)
  }

  /** Starts and records the process in one synchronous step, so that only a kill of svc can come between. */
  #launch(binary: string): {
    child: ChildProcess
    state: SidecarState | null
    failure: Promise<Error>
    problem?: unknown
  } {
    const { projectRoot, environment } = this.#options
    const child = spawn(binary, [], {
      cwd: projectRoot,
      env: childEnvironment(environment),
      detached: true,
      stdio: 'ignore',
      windowsHide: true
    })
    // Of the start, or of a later signal. Without a listener, it would end svc.
    const failure = new Promise<Error>(resolve => child.on('error', resolve))
    if (child.pid === undefined) return { child, state: null, failure }
    child.unref()
    const state = stateOf(child.pid, binary)
    try {
      writeState(this.statePath, state)
      return { child, state, failure }
    } catch (problem) {
      return { child, state, failure, problem }
    }
  }

  async #probe(
    state: SidecarState,
    child: ChildProcess | null,
    signal: AbortSignal | undefined
  ): Promise<Pick<SidecarStart, 'attempts' | 'reachable'>> {
    const { maxAttempts, backoffMs, probe } = this.#options
    let pause = Math.min(backoffMs, MAX_BACKOFF_MS)
    for (let attempts = 1; ; attempts++) {
      // A sidecar that ran before may respond at once.
      if (child !== null || attempts > 1) {
        await delay(pause, undefined, signal === undefined ? {} : { signal })
        pause = Math.min(pause * 2, MAX_BACKOFF_MS)
      }
      if (sidecarPresence(state) === 'dead') {
        await this.#locked(signal, async () => {
          if (this.#running() === null) removeState(this.statePath)
        })
        const end = child?.signalCode ?? (child === null ? null : `code ${child.exitCode}`)
        throw this.#failed(
          `${state.binary_path} ended${end === null ? '' : ` with ${end}`} before it accepted a connection`,
          'run the program in a terminal to see its messages'
        )
      }
      if (await probe(signal)) return { attempts, reachable: true }
      signal?.throwIfAborted()
      if (attempts >= maxAttempts) return { attempts, reachable: false }
    }
  }

  async #locked<A>(signal: AbortSignal | undefined, run: () => Promise<A>): Promise<A> {
    const busy = (): Error => this.#failed('another svc starts or stops the sidecar', 'try again later')
    try {
      return await withFileLock(`${this.statePath}.lock`, run, { waitMs: LOCK_WAIT_MS, busy, signal })
    } catch (error) {
      if (isSvcError(error) || signal?.aborted) throw error
      throw this.#failed(errorMessage(error), 'correct the permissions of the folder', error)
    }
  }

  #failed(reason: string, hint: string, cause?: unknown): Error {
    const details = cause === undefined ? {} : { cause }
    return openclawErrors.create('SKG_SIDECAR_FAILED', `${this.statePath}: ${reason}`, {
      at: { file: this.statePath },
      hint,
      ...details
    })
  }
}

function isElsewhere({ host }: SidecarState): boolean {
  return host !== undefined && host !== hostname()
}
