import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { errorMessage } from '@svc/plugin-sdk'
import { updateErrors } from './errors.ts'

const run = promisify(execFile)
const GIT_TIMEOUT_MS = 600_000
const BUILD_TIMEOUT_MS = 3_600_000
const MAX_OUTPUT = 67_108_864

/** Where a checkout was before its last update. */
export interface RollbackMarker {
  readonly commit: string
  /** Commit of the update. */
  readonly to: string
  /** Branch that was checked out; null for a detached commit. */
  readonly branch: string | null
  /** ISO 8601. */
  readonly at: string
}

export interface SourceOptions {
  /** Folder of the checkout, absolute. */
  readonly root: string
  /** Branch, tag or commit; undefined: the upstream of the branch, fast-forward only. */
  readonly ref: string | undefined
  readonly cargo: string
  readonly onStep: (step: string) => void
  readonly signal: AbortSignal
}

export interface SourceResult {
  readonly before: string
  readonly after: string
}

export function markerFile(root: string): string {
  return join(root, '.vox', 'toolchain-upgrade-rollback.json')
}

/** Returns the commits of a checkout now and after an update, after fetching them. Changes no file of the checkout. */
export async function reportSource({ root, ref, onStep, signal }: SourceOptions): Promise<SourceResult> {
  onStep('fetch')
  await git(root, signal, 'fetch', '--tags', '--quiet')
  return { before: await commitOf(root, 'HEAD', signal), after: await targetOf(root, ref, signal) }
}

/**
 * Updates a checkout and builds it. If the build fails, the checkout returns to its commit and is built again. Throws
 * `UPD_SOURCE_DIRTY` and `UPD_SOURCE_FAILED`.
 */
export async function updateSource(options: SourceOptions): Promise<SourceResult> {
  const { root, ref, onStep, signal } = options
  await refuseChanges(root, signal)
  const { before, after } = await reportSource(options)
  if (before === after) return { before, after }
  const marker: RollbackMarker = {
    commit: before,
    to: after,
    branch: await branchOf(root, signal),
    at: new Date().toISOString()
  }
  await writeMarker(root, marker)
  onStep('checkout')
  if (ref === undefined) await git(root, signal, 'merge', '--ff-only', '--quiet', after)
  else await git(root, signal, 'checkout', '--quiet', '--detach', after)
  try {
    await build(options)
  } catch (error) {
    onStep('roll back')
    // Also after Ctrl-C: a checkout that is not built does not run.
    const unstopped = { ...options, signal: AbortSignal.timeout(BUILD_TIMEOUT_MS) }
    await goTo(unstopped, marker, true)
    await build(unstopped).catch(() => {})
    throw error
  }
  return { before, after: await commitOf(root, 'HEAD', signal) }
}

/** Returns a checkout to where it was before its last update, and builds it. Throws `UPD_NO_PREVIOUS`, too. */
export async function rollBackSource(options: SourceOptions): Promise<SourceResult> {
  const { root, onStep, signal } = options
  const marker = await readMarker(root)
  if (marker === null)
    throw updateErrors.create('UPD_NO_PREVIOUS', `${markerFile(root)} does not exist or cannot be read`, {
      hint: 'check out the commit with git, and run the build'
    })
  await refuseChanges(root, signal)
  const before = await commitOf(root, 'HEAD', signal)
  if (before !== marker.to)
    throw updateErrors.create('UPD_SOURCE_FAILED', `${root} has other commits than the last update left`, {
      data: { commit: before, expected: marker.to },
      hint: `check out ${marker.commit} with git, and run the build`
    })
  onStep('checkout')
  await goTo(options, marker, false)
  await build(options)
  await rm(markerFile(root), { force: true })
  return { before, after: marker.commit }
}

/** Moves the branch of a marker to its commit, and checks it out. `reset`: discards what a build changed. */
async function goTo(
  { root, signal }: SourceOptions,
  { commit, branch }: RollbackMarker,
  reset: boolean
): Promise<void> {
  await git(root, signal, 'checkout', '--quiet', ...(reset ? ['--force'] : []), '--detach', commit)
  if (branch === null) return
  await git(root, signal, 'branch', '--quiet', '--force', branch, commit)
  await git(root, signal, 'checkout', '--quiet', branch)
}

async function refuseChanges(root: string, signal: AbortSignal): Promise<void> {
  const changes = await git(root, signal, 'status', '--porcelain', '--untracked-files=no')
  if (changes === '') return
  const files = changes.split('\n').map(line => line.trim().replace(/^\S+\s+/, ''))
  throw updateErrors.create('UPD_SOURCE_DIRTY', `${root} has ${files.length} changed files`, {
    data: { files: files.slice(0, 20) },
    hint: 'commit or stash the changes first'
  })
}

async function targetOf(root: string, ref: string | undefined, signal: AbortSignal): Promise<string> {
  if (ref === undefined) return commitOf(root, '@{upstream}', signal)
  if (ref.startsWith('-'))
    throw updateErrors.create('UPD_SOURCE_FAILED', `${ref} is not a branch, tag or commit`, { hint: 'correct --ref' })
  // A branch of the remote is newer than a local one of the same name.
  return commitOf(root, `origin/${ref}`, signal).catch(() => commitOf(root, ref, signal))
}

function commitOf(root: string, name: string, signal: AbortSignal): Promise<string> {
  return git(root, signal, 'rev-parse', '--verify', '--quiet', `${name}^{commit}`)
}

async function branchOf(root: string, signal: AbortSignal): Promise<string | null> {
  const name = await git(root, signal, 'rev-parse', '--abbrev-ref', 'HEAD')
  return name === 'HEAD' ? null : name
}

async function build({ root, cargo, onStep, signal }: SourceOptions): Promise<void> {
  onStep('build')
  if (existsSync(join(root, 'package.json'))) {
    await tool(root, signal, 'npm', 'ci', '--no-audit', '--no-fund')
    await tool(root, signal, 'npm', 'run', '--silent', 'build')
  } else if (existsSync(join(root, 'Cargo.toml'))) await tool(root, signal, cargo, 'build', '--release')
  else
    throw updateErrors.create('UPD_SOURCE_FAILED', `${root} has neither a package.json nor a Cargo.toml`, {
      hint: 'name the folder of the checkout with --repo-root'
    })
}

async function tool(root: string, signal: AbortSignal, program: string, ...argv: string[]): Promise<void> {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('npm_')))
  try {
    await run(program, argv, { cwd: root, signal, env, timeout: BUILD_TIMEOUT_MS, maxBuffer: MAX_OUTPUT })
  } catch (error) {
    signal.throwIfAborted()
    throw sourceFailed(`${program} ${argv.join(' ')}`, error)
  }
}

async function git(root: string, signal: AbortSignal, ...argv: string[]): Promise<string> {
  try {
    const { stdout } = await run('git', argv, {
      cwd: root,
      signal,
      timeout: GIT_TIMEOUT_MS,
      maxBuffer: MAX_OUTPUT,
      env: { ...process.env, GIT_TERMINAL_PROMPT: '0' }
    })
    return stdout.trim()
  } catch (error) {
    signal.throwIfAborted()
    throw sourceFailed(`git ${argv[0]}`, error)
  }
}

function sourceFailed(command: string, cause: unknown) {
  const { stderr } = cause as { stderr?: string }
  const reason = stderr?.trim().split('\n').slice(-5).join(' ') || errorMessage(cause)
  return updateErrors.create('UPD_SOURCE_FAILED', `${command} failed: ${reason.slice(0, 2_000)}`, {
    cause,
    hint: 'run the command in the checkout to see all of its output'
  })
}

async function writeMarker(root: string, marker: RollbackMarker): Promise<void> {
  const file = markerFile(root)
  await mkdir(dirname(file), { recursive: true })
  const next = `${file}.${randomUUID()}`
  await writeFile(next, `${JSON.stringify(marker, null, 2)}\n`)
  await rename(next, file)
}

async function readMarker(root: string): Promise<RollbackMarker | null> {
  try {
    const { commit, to, branch, at } = JSON.parse(await readFile(markerFile(root), 'utf8')) as Partial<RollbackMarker>
    const commits = [commit, to].filter(each => typeof each === 'string' && /^[0-9a-f]{40,64}$/.test(each))
    if (commits.length !== 2) return null
    return {
      commit: commit as string,
      to: to as string,
      branch: typeof branch === 'string' && !branch.startsWith('-') ? branch : null,
      at: String(at)
    }
  } catch {
    return null
  }
}
