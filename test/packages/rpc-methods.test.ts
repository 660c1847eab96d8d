import { type OperationDescriptor, rpcMethodNames } from '@svc/plugin-sdk'
import t from 'tap'
import { ownManifests } from '../../tools/docs.ts'

const operations = (await ownManifests()).flatMap(manifest => manifest.operations)
const methods = operations.flatMap(operation => rpcMethodNames(operation).map(name => ({ name, operation })))

/** Normalises a method name: `orch.submit_task` and `orchestrator.submitTask` are the same action. */
function actOf(name: string): string {
  return name
    .replace(/^orch\./, 'orchestrator.')
    .replace(/_ext$/, '')
    .replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
}

t.test('methods of the same action have the same schema', t => {
  t.ok(methods.length > 100, `${methods.length} methods`)
  const owners = new Map<string, OperationDescriptor>()
  for (const { name, operation } of methods) {
    const owner = owners.get(actOf(name)) ?? operation
    owners.set(actOf(name), owner)
    t.equal(owner.id, operation.id, `${name} belongs to ${owner.id}`)
  }
  t.end()
})

t.test('a protocol name belongs to the operation that serves the same action on other surfaces', t => {
  const owned = methods
    .filter(({ name }) => name.startsWith('orch.'))
    .map(({ name, operation }) => [name, operation.id])
  t.same(Object.fromEntries(owned), {
    'orch.ping': 'orch.ping',
    'orch.agent_ids': 'orch.agent_ids',
    'orch.workspace_journey': 'orch.workspace_journey',
    'orch.events': 'orchestrator.followEvents',
    'orch.poll_events': 'orchestrator.pollEvents',
    'orch.status': 'orchestrator.status',
    'orch.submit_task': 'orchestrator.submitTask',
    'orch.task_status': 'orchestrator.taskStatus',
    'orch.complete_task': 'orchestrator.completeTask',
    'orch.fail_task': 'orchestrator.failTask',
    'orch.cancel_task': 'orchestrator.cancelTask',
    'orch.reorder_task': 'orchestrator.reorderTask',
    'orch.drain_agent': 'orchestrator.drainAgent',
    'orch.rebalance': 'orchestrator.rebalance',
    'orch.spawn_agent': 'orchestrator.spawnAgent',
    'orch.spawn_agent_ext': 'orchestrator.spawnAgent',
    'orch.retire_agent': 'orchestrator.retireAgent',
    'orch.pause_agent': 'orchestrator.pauseAgent',
    'orch.resume_agent': 'orchestrator.resumeAgent'
  })
  t.end()
})
