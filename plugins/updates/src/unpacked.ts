import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { errorMessage } from '@svc/plugin-sdk'
import semver from 'semver'
import { updateErrors } from './errors.ts'
import type { Release } from './release.ts'

const run = promisify(execFile)
const START_TIMEOUT_MS = 60_000
const NPM_TIMEOUT_MS = 1_800_000
const MAX_OUTPUT = 4_194_304

/** Facts of an unpacked release, in its file `release.json`. */
interface ReleaseFacts {
  readonly version: string
  /** Range of supported versions of Node.js. */
  readonly node: string
  /** `bundled`: `node_modules` is complete. `npm`: npm installs it from `package-lock.json`. */
  readonly dependencies: 'bundled' | 'npm'
}

/** Reads and checks the facts of an unpacked release. Throws `UPD_NOT_RUNNABLE`. */
export async function readFacts(folder: string, { tag, version }: Release): Promise<ReleaseFacts> {
  let facts: Partial<ReleaseFacts>
  try {
    facts = JSON.parse(await readFile(join(folder, 'release.json'), 'utf8')) as Partial<ReleaseFacts>
  } catch (cause) {
    throw notRunnable(tag, `its release.json cannot be read: ${errorMessage(cause)}`)
  }
  const { node, dependencies } = facts
  if (facts.version !== version) throw notRunnable(tag, `it contains the version ${String(facts.version)}`)
  if (typeof node !== 'string' || semver.validRange(node) === null)
    throw notRunnable(tag, 'its release.json names no range of Node.js')
  if (!semver.satisfies(process.version, node))
    throw notRunnable(tag, `it needs Node.js ${node}; this is ${process.version}`, 'install a newer Node.js first')
  if (dependencies !== 'bundled' && dependencies !== 'npm')
    throw notRunnable(tag, 'its release.json does not say where its libraries are')
  return { version, node, dependencies }
}

/** Installs the libraries of a release that does not contain them. Runs no scripts. Throws `UPD_DEPENDENCIES`. */
export async function installDependencies(folder: string, signal: AbortSignal): Promise<void> {
  const argv = ['ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--no-update-notifier']
  try {
    await run(...npmCommand(argv), {
      cwd: folder,
      env: plainEnvironment(),
      signal,
      timeout: NPM_TIMEOUT_MS,
      maxBuffer: MAX_OUTPUT
    })
  } catch (cause) {
    signal.throwIfAborted()
    const { stderr } = cause as { stderr?: string }
    const reason = stderr?.trim().split('\n').slice(-3).join(' ') || errorMessage(cause)
    throw updateErrors.create('UPD_DEPENDENCIES', `npm ci failed: ${reason}`, {
      cause,
      hint: 'check that npm is installed and reaches its registry, or choose a release with an archive for this machine'
    })
  }
}

/** Starts an unpacked version once. Throws `UPD_NOT_RUNNABLE` unless it prints its version. */
export async function checkRuns(folder: string, { tag, version }: Release, signal: AbortSignal): Promise<void> {
  let printed: string
  try {
    const { stdout } = await run(process.execPath, [join(folder, 'bin', 'svc.cjs'), '--version'], {
      cwd: folder,
      env: plainEnvironment(),
      signal,
      timeout: START_TIMEOUT_MS,
      maxBuffer: MAX_OUTPUT
    })
    printed = stdout.trim()
  } catch (cause) {
    signal.throwIfAborted()
    const { stderr } = cause as { stderr?: string }
    throw notRunnable(tag, `it does not start: ${stderr?.trim().split('\n').at(-1) || errorMessage(cause)}`)
  }
  if (printed !== version) throw notRunnable(tag, `it says that it is ${JSON.stringify(printed.slice(0, 100))}`)
}

/** Returns npm, from the folder of this Node.js if it is there. */
function npmCommand(argv: readonly string[]): [string, string[]] {
  const script = join(dirname(process.execPath), '..', 'lib', 'node_modules', 'npm', 'bin', 'npm-cli.js')
  return existsSync(script) ? [process.execPath, [script, ...argv]] : ['npm', [...argv]]
}

/** Environment without the settings of this process, of npm and of Node.js. */
function plainEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(?:npm_|SVC_|NODE_OPTIONS$|NODE_V8_COVERAGE$)/.test(name))
  )
}

function notRunnable(tag: string, problem: string, hint?: string) {
  return updateErrors.create('UPD_NOT_RUNNABLE', `the release ${tag} is not installed: ${problem}`, {
    hint: hint ?? 'the running version is unchanged; choose another release with --version'
  })
}
