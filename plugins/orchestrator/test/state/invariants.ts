import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict'
import type { TaskStatusKind } from '@svc/contracts'
import { hasEnded, taskWeight, type World } from '#state'

/** Asserts the invariants that hold between commands, recomputed from the tasks. */
export function assertInvariants(world: World): void {
  const counts: Partial<Record<TaskStatusKind, number>> = {}
  const loads = new Map<number, number>()
  for (const task of world.tasks.values()) {
    const { kind } = task.status
    counts[kind] = (counts[kind] ?? 0) + 1
    const agent = world.agents.get(task.agent)
    const sets = [agent?.parked.has(task) === true, agent?.working.has(task) === true, task.slot !== -1].filter(
      Boolean
    ).length
    if (hasEnded(kind)) {
      strictEqual(sets, 0, `T-${task.id} is ${kind}, but still queued, parked or in progress`)
      continue
    }
    ok(agent !== undefined, `T-${task.id} is ${kind} without an agent`)
    strictEqual(sets, 1, `T-${task.id} is ${kind}, and in ${sets} of queue, parked and working`)
    if (kind === 'Queued' || kind === 'InProgress') loads.set(agent.id, (loads.get(agent.id) ?? 0) + taskWeight(task))
    strictEqual(
      agent.working.has(task),
      kind === 'InProgress',
      `T-${task.id} is in the working set only while in progress`
    )
    if (kind === 'Queued' && task.slot === -1) {
      const isLocked = task.files.some(
        ({ path, access }) => access === 'write' && world.locks.conflict(path, agent.id) !== null
      )
      ok(isLocked, `T-${task.id} is parked, but could run`)
    }
    const isHeld = kind === 'InProgress' && task.extra?.remote !== undefined
    strictEqual(world.holds.get(task.id), isHeld ? task : undefined, `T-${task.id} is ${isHeld ? '' : 'not '}held`)
    if (isHeld) ok(agent.current !== null, `A-${agent.id} is busy while another machine works on T-${task.id}`)
    ok(isHeld || task.extra?.remote === undefined, `T-${task.id} is ${kind} and has no delegate`)
    const open = task.dependsOn.filter(on => {
      const other = world.tasks.get(on)
      return other !== undefined && other.status.kind !== 'Completed'
    })
    strictEqual(task.waiting, open.length, `T-${task.id} counts the incomplete dependencies ${open}`)
    if (kind === 'Blocked')
      ok(
        task.status.kind === 'Blocked' && open.includes(task.status.on),
        `T-${task.id} is blocked by an incomplete dependency`
      )
    if (kind === 'Queued' || kind === 'InProgress')
      strictEqual(open.length, 0, `T-${task.id} is ${kind} before its dependencies are completed`)
  }
  for (const [kind, count] of Object.entries(world.counts))
    strictEqual(count, counts[kind as TaskStatusKind] ?? 0, `the count of ${kind} tasks is correct`)
  let total = 0
  for (const agent of world.agents.values()) {
    strictEqual(agent.load, loads.get(agent.id) ?? 0, `the load of A-${agent.id} is correct`)
    total += agent.load
    ok(agent.current === null || agent.working.has(agent.current), `the current task of A-${agent.id} is in progress`)
    const doubted = [...agent.parked].filter(task => task.status.kind === 'Doubted').length
    strictEqual(agent.doubted, doubted, `the count of doubted tasks of A-${agent.id} is correct`)
    for (const path of world.files.filesOf(agent.id)) strictEqual(world.files.owner(path), agent.id, path)
  }
  for (const id of world.holds.keys()) ok(world.tasks.has(id), `the held T-${id} exists`)
  strictEqual(world.load, total, 'the total load is correct')
  for (const lock of world.locks.views()) {
    ok(lock.task_id !== undefined, `${lock.path} is locked without a task`)
    const task = world.tasks.get(lock.task_id)
    ok(task !== undefined && !hasEnded(task.status.kind), `${lock.path} is locked for a missing or ended task`)
    for (const holder of lock.holders)
      ok(world.agents.has(holder), `${lock.path} is locked by the missing agent A-${holder}`)
  }
  deepStrictEqual(
    [...world.tasks.keys()],
    [...world.tasks.keys()].sort((one, other) => one - other),
    'tasks are ordered by id'
  )
}
