import fc from 'fast-check'
import t from 'tap'
import { openWorld } from './open-world.ts'

const MESSAGE = { messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: 'say hello' }] }

t.test('no JSON makes a call fail with an internal error', async t => {
  const { rpc, rest } = await openWorld(t)
  const methods = ['SendMessage', 'SendStreamingMessage', 'GetTask', 'ListTasks', 'CancelTask', 'SubscribeToTask']
  const pushes = ['Create', 'Get', 'Delete'].map(verb => `${verb}TaskPushNotificationConfig`)
  const method = fc.constantFrom(...methods, ...pushes, 'ListTaskPushNotificationConfigs', 'GetExtendedAgentCard')
  const value = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom('', 'x', 0, -1, 1.5, 1e300, null, true, [], {}))
  const fields = [
    'message',
    'configuration',
    'metadata',
    'id',
    'taskId',
    'contextId',
    'status',
    'pageSize',
    'pageToken',
    'url',
    'historyLength',
    'authentication'
  ]
  const inMessage = ['messageId', 'role', 'parts', 'taskId', 'contextId', 'metadata', 'extensions', 'referenceTaskIds']
  const message = fc.dictionary(fc.constantFrom(...inMessage), value)
  const params = fc.oneof(
    value,
    fc.dictionary(fc.constantFrom(...fields), fc.oneof(value, message)),
    message.map(each => ({ message: { ...MESSAGE, ...each }, configuration: { returnImmediately: true } }))
  )
  await fc.assert(
    fc.asyncProperty(method, params, async (name, given) => {
      const answer = await rpc(name, given)
      t.not(answer.body?.error?.code, -32603, `${name} ${JSON.stringify(given)}`)
      const posted = await rest('POST', name.startsWith('Send') ? '/message:send' : '/tasks/x:cancel', given)
      t.ok(posted.status < 500, `${name} ${JSON.stringify(given)}`)
    }),
    { numRuns: 300 }
  )
})
