import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict'
import type { TaskStatusKind } from '@svc/contracts'
import { hasEnded, taskWeight, type World } from '#state'

/** Everything that must hold between two commands, recounted from the tasks themselves. Throws what does not. */
export function assertInvariants(world: World): void {
  const counts: Partial<Record<TaskStatusKind, number>> = {}
  const loads = new Map<number, number>()
  for (const task of world.tasks.values()) {
    const { kind } = task.status
    counts[kind] = (counts[kind] ?? 0) + 1
    const agent = world.agents.get(task.agent)
    const places = [agent?.parked.has(task) === true, agent?.working.has(task) === true, task.slot !== -1].filter(
      Boolean
    ).length
    if (hasEnded(kind)) {
      strictEqual(places, 0, `T-${task.id} is ${kind} and still has a place`)
      continue
    }
    ok(agent !== undefined, `T-${task.id} is ${kind} without an agent`)
    strictEqual(places, 1, `T-${task.id} is ${kind} and in ${places} places`)
    if (kind === 'Queued' || kind === 'InProgress') loads.set(agent.id, (loads.get(agent.id) ?? 0) + taskWeight(task))
    strictEqual(agent.working.has(task), kind === 'InProgress', `T-${task.id}`)
    if (kind === 'Queued' && task.slot === -1) {
      const hindrance = task.files.some(
        ({ path, access }) => access === 'write' && world.locks.conflict(path, agent.id) !== null
      )
      ok(hindrance, `T-${task.id} could run and is put aside`)
    }
    const open = task.dependsOn.filter(on => {
      const other = world.tasks.get(on)
      return other !== undefined && other.status.kind !== 'Completed'
    })
    strictEqual(task.waiting, open.length, `T-${task.id} waits for ${open}`)
    if (kind === 'Blocked')
      ok(task.status.kind === 'Blocked' && open.includes(task.status.on), `T-${task.id} is blocked`)
    if (kind === 'Queued' || kind === 'InProgress') strictEqual(open.length, 0, `T-${task.id} runs before its time`)
  }
  for (const [kind, count] of Object.entries(world.counts))
    strictEqual(count, counts[kind as TaskStatusKind] ?? 0, `count of ${kind}`)
  let total = 0
  for (const agent of world.agents.values()) {
    strictEqual(agent.load, loads.get(agent.id) ?? 0, `load of A-${agent.id}`)
    total += agent.load
    ok(agent.current === null || agent.working.has(agent.current), `current task of A-${agent.id}`)
    const doubted = [...agent.parked].filter(task => task.status.kind === 'Doubted').length
    strictEqual(agent.doubted, doubted, `doubted tasks of A-${agent.id}`)
    for (const path of world.files.filesOf(agent.id)) strictEqual(world.files.owner(path), agent.id, path)
  }
  strictEqual(world.load, total, 'load of all')
  for (const lock of world.locks.views()) {
    ok(lock.task_id !== undefined, `${lock.path} is locked for nothing`)
    const task = world.tasks.get(lock.task_id)
    ok(task !== undefined && !hasEnded(task.status.kind), `${lock.path} is locked for a task that is gone`)
    for (const holder of lock.holders)
      ok(world.agents.has(holder), `${lock.path} is locked by A-${holder}, who is gone`)
  }
  deepStrictEqual(
    [...world.tasks.keys()],
    [...world.tasks.keys()].sort((one, other) => one - other),
    'the order of ids'
  )
}
