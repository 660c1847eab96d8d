import { posix } from 'node:path'
import { agentLabel, type FileAffinity, orchestrationErrors } from '@svc/contracts'
import { isTrustRelaxed } from '../gates/settings.ts'
import type { Agent } from './agent.ts'
import type { StateChanges } from './changes.ts'
import type { LockConflict } from './locks.ts'
import type { Task } from './task.ts'
import type { World } from './world.ts'

/**
 * Normalises a path: relative to the repository, forward slashes, no `.` or `..`. Throws `ORC_SCOPE_DENIED` for a path
 * outside the repository. The service checks symbolic links, since this module does no I/O.
 */
export function repositoryPath(path: string): string {
  const isPlain = !path.includes('\\') && !path.includes('/') && !path.startsWith('.')
  const clean = isPlain ? path : normalised(path)
  const isOutside = clean === '' || clean === '.' || clean === '..' || clean.startsWith('/') || clean.startsWith('../')
  if (isOutside || /^[a-z]:/i.test(clean) || clean.includes('\0')) throw outside(path)
  return clean
}

function normalised(path: string): string {
  const clean = posix.normalize(path.replaceAll('\\', '/'))
  return clean.endsWith('/') ? clean.slice(0, -1) : clean
}

export function outside(path: string): Error {
  const shown = JSON.stringify(path.length > 200 ? `${path.slice(0, 200)}…` : path)
  return orchestrationErrors.create('ORC_SCOPE_DENIED', `Scope denied: ${shown} is not a path inside the repository`, {
    hint: 'name files relative to the root of the repository, with forward slashes'
  })
}

/** Normalises the paths and removes duplicates; write access replaces read access. */
export function manifest(files: readonly FileAffinity[]): readonly FileAffinity[] {
  if (files.length === 0) return files
  if (files.length === 1) {
    const [only] = files as readonly [FileAffinity]
    return [{ path: repositoryPath(only.path), access: only.access }]
  }
  const merged = new Map<string, FileAffinity>()
  for (const file of files) {
    const path = repositoryPath(file.path)
    if (merged.get(path)?.access !== 'write') merged.set(path, { path, access: file.access })
  }
  return [...merged.values()]
}

/** Throws `ORC_LOCK_CONFLICT` if another agent has locked a file that should be written. */
export function assertUnlocked(world: World, files: readonly FileAffinity[], agent: number): void {
  for (const { path, access } of files) {
    if (access !== 'write') continue
    const conflict = world.locks.conflict(path, agent)
    if (conflict === null) continue
    world.locks.contention += 1
    throw lockConflict(conflict)
  }
}

function lockConflict({ path, kind, holder }: LockConflict): Error {
  const how = kind === 'exclusively_held' ? 'writes it' : 'reads it'
  return orchestrationErrors.create('ORC_LOCK_CONFLICT', `Lock conflict: ${path}: ${agentLabel(holder)} ${how}`, {
    hint: 'wait until that agent has released the file, or assign the task to it'
  })
}

/**
 * Checks that files to write are within an agent's scope. Reports each violation. Throws `ORC_SCOPE_DENIED` if the scope
 * is strict, unless the agent is reliable enough to be exempt.
 */
export function checkScope(world: World, changes: StateChanges, files: readonly FileAffinity[], agent: number): void {
  const settings = world.deps.settings()
  const { scope_enforcement } = settings
  if (scope_enforcement === 'disabled') return
  for (const { path, access } of files) {
    if (access !== 'write' || world.files.isInScope(path, agent)) continue
    const reason = `${path} is outside the files that ${agentLabel(agent)} owns`
    changes.event({ type: 'scope_violation', agent_id: agent, path, reason })
    const isExempt = isTrustRelaxed(settings, world.deps.trust.of(agent).reliability)
    if (scope_enforcement === 'warn' || isExempt) continue
    throw orchestrationErrors.create('ORC_SCOPE_DENIED', `Scope denied: ${reason}`, {
      hint: 'claim the file for the agent, or name another agent'
    })
  }
}

/** Locks the files that a task writes for its agent, which then owns them. */
export function takeFiles(world: World, changes: StateChanges, task: Task, agent: number): void {
  for (const { path, access } of task.files) {
    if (access !== 'write') continue
    lockToWrite(world, changes, path, agent, task.id)
    own(world, changes, path, agent)
  }
}

export function own(world: World, changes: StateChanges, path: string, agent: number): void {
  if (world.files.assign(path, agent)) changes.touch('file_owner', path)
}

function lockToWrite(world: World, changes: StateChanges, path: string, agent: number, task: number): void {
  if (!world.locks.write(path, agent, task, world.deps.now())) return
  changes.touch('lock', path)
  changes.event({ type: 'lock_acquired', agent_id: agent, path, exclusive: true })
}

/**
 * Acquires the locks that a task needs to run; some may have timed out while it waited. If another agent has locked one of
 * the files, acquires nothing and returns its path.
 */
export function lockToWork(world: World, changes: StateChanges, task: Task, agent: Agent): string | null {
  if (task.files.length === 0) return null
  for (const { path, access } of task.files) {
    if (access !== 'write' || world.locks.conflict(path, agent.id) === null) continue
    world.locks.contention += 1
    return path
  }
  const now = world.deps.now()
  for (const { path, access } of task.files) {
    if (access === 'write') lockToWrite(world, changes, path, agent.id, task.id)
    else if (world.locks.read(path, agent.id, task.id, now)) {
      changes.touch('lock', path)
      changes.event({ type: 'lock_acquired', agent_id: agent.id, path, exclusive: false })
    }
  }
  return null
}

/** Gives the new agent of a moved task its write locks and files, except for files that others have locked. */
export function moveFiles(world: World, changes: StateChanges, task: Task, to: number): void {
  for (const { path, access } of task.files) {
    if (access !== 'write' || world.locks.conflict(path, to) !== null) continue
    lockToWrite(world, changes, path, to, task.id)
    own(world, changes, path, to)
  }
}

/** Releases the locks of a task, except for those that other tasks of its agent need. */
export function releaseFiles(world: World, changes: StateChanges, task: Task): void {
  for (const { path } of task.files) {
    if (!world.locks.release(path, task.agent, task.id, other => world.tasks.get(other)?.agent ?? null)) continue
    reportReleased(world, changes, path, task.agent)
  }
}

/** Releases any lock of an agent on a file. */
export function dropLock(world: World, changes: StateChanges, path: string, agent: number): void {
  if (world.locks.drop(path, agent)) reportReleased(world, changes, path, agent)
}

function reportReleased(world: World, changes: StateChanges, path: string, agent: number): void {
  changes.touch('lock', path)
  changes.event({ type: 'lock_released', agent_id: agent, path })
  world.freed(path)
}

/** Renews the locks of an agent's tasks in progress, at a heartbeat. */
export function renewLocks(world: World, agent: Agent): void {
  const now = world.deps.now()
  for (const task of agent.working) for (const { path } of task.files) world.locks.renew(path, agent.id, now)
}

/** Makes an agent the owner of a file. Throws `ORC_LOCK_CONFLICT` if another agent has locked it. */
export function claimFile(world: World, changes: StateChanges, agent: number, path: string): void {
  world.agent(agent)
  const clean = repositoryPath(path)
  assertUnlocked(world, [{ path: clean, access: 'write' }], agent)
  own(world, changes, clean, agent)
}

/**
 * Moves the ownership of a file to another agent. Throws `ORC_SCOPE_DENIED` if `from` does not own it. A lock stays with
 * the tasks that hold it.
 */
export function transferFile(world: World, changes: StateChanges, from: number, to: number, path: string): void {
  world.agent(from)
  world.agent(to)
  const clean = repositoryPath(path)
  if (world.files.owner(clean) !== from)
    throw orchestrationErrors.create('ORC_SCOPE_DENIED', `Scope denied: ${agentLabel(from)} does not own ${clean}`, {
      hint: 'svc orch files list shows the owners'
    })
  assertUnlocked(world, [{ path: clean, access: 'write' }], from)
  own(world, changes, clean, to)
}
