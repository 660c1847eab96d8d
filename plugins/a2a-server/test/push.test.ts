import { readFileSync } from 'node:fs'
import type { Task } from '@a2a-js/sdk'
import { isPublicAddress } from '@svc/contracts'
import t from 'tap'
import { callbackAddresses, deadNotifications, retryNotification, sendCallback } from '#root'
import { bothBindings, type Operation } from './both-bindings.ts'
import { openWorld } from './open-world.ts'
import { CERTIFICATE, openReceiver } from './receiver.ts'
import { messageOf, until } from './requests.ts'

const config = (url: string, more: object = {}) => ({
  tenant: '',
  id: '',
  taskId: '',
  url,
  token: '',
  authentication: undefined,
  ...more
})

t.test('the events of a task are sent to its webhook, with the token and credentials of the client', async t => {
  const receiver = await openReceiver(t)
  const world = await openWorld(t, {
    settings: { push_private_hosts: [`127.0.0.1:${receiver.port}`], push_ca_file: CERTIFICATE }
  })
  const client = await world.client('JSONRPC')
  const taskPushNotificationConfig = config(receiver.url, {
    token: 'a-token',
    authentication: { scheme: 'Bearer', credentials: 'a-credential' }
  })
  const task = (await client.sendMessage(
    messageOf('say hello', { configuration: { taskPushNotificationConfig } })
  )) as Task
  await until(() => receiver.received.some(({ body }) => body.statusUpdate?.status.state === 'TASK_STATE_COMPLETED'))
  for (const { headers } of receiver.received) {
    t.match(headers, {
      'content-type': 'application/a2a+json',
      authorization: 'Bearer a-credential',
      'x-a2a-notification-token': 'a-token'
    })
  }
  const bodies = receiver.received.map(({ body }) => body)
  t.ok(bodies.every(body => (body.statusUpdate ?? body.artifactUpdate).taskId === task.id))
  t.ok(bodies.some(body => body.artifactUpdate?.artifact.parts[0].text === 'hello'))
})

t.test('a notification that fails is sent again, and a redirect counts as a failure', async t => {
  const receiver = await openReceiver(t)
  receiver.answers.push(500, 302)
  const world = await openWorld(t, { settings: { push_private_hosts: ['127.0.0.1'], push_ca_file: CERTIFICATE } })
  const client = await world.client('JSONRPC')
  await client.sendMessage(
    messageOf('fail now', { configuration: { taskPushNotificationConfig: config(receiver.url) } })
  )
  await until(() =>
    receiver.received.some(
      ({ body, status }) => status === 200 && body.statusUpdate?.status.state === 'TASK_STATE_FAILED'
    )
  )
  t.strictSame(
    receiver.received.map(({ status }) => status).sort(),
    receiver.received.map((_, at) => [200, 302, 500][at] ?? 200).sort()
  )
  t.ok(world.kernel.log.some(({ message }) => message === 'a push notification was not delivered'))
})

t.test('after the last attempt a notification is dead, and the secrets of the client are in no log', async t => {
  const receiver = await openReceiver(t)
  receiver.answers.push(...Array(50).fill(503))
  const world = await openWorld(t, {
    settings: { push_private_hosts: ['127.0.0.1'], push_ca_file: CERTIFICATE, push_attempts: 1 }
  })
  const client = await world.client('JSONRPC')
  const task = (await client.sendMessage(
    messageOf('say hello', {
      configuration: { taskPushNotificationConfig: config(receiver.url, { token: 'the-secret-token' }) }
    })
  )) as Task
  const queue = `a2a-push:${world.scope}`
  const dead = await until(async () => {
    const found = await world.store.dead(queue, { limit: 100 })
    return found.length >= 2 && found
  })
  t.match(dead[0], { error: /answered with status 503/ })
  t.ok(dead.every(({ body }) => !body.includes('secret')))
  t.match(JSON.parse(dead[0]?.body ?? ''), { task: task.id })
  t.notMatch(JSON.stringify(world.kernel.log), /the-secret-token/)

  t.comment('an operator lists it, and has it sent again')
  const { notifications } = await world.kernel.call(deadNotifications, { limit: 1 })
  t.match(notifications, [{ task_id: task.id, attempts: 1, error: /503/ }])
  receiver.answers.length = 0
  receiver.received.length = 0
  const id = notifications[0]?.id as number
  t.strictSame(await world.kernel.call(retryNotification, { id }), { retried: true })
  await until(() => receiver.received.length === 1)
  t.strictSame(await world.kernel.call(retryNotification, { id: id + 1_000 }), { retried: false })
})

t.test('only public https addresses are called', async t => {
  const world = await openWorld(t)
  const client = await world.client('HTTP+JSON')
  const urls: Record<string, RegExp> = {
    'http://example.org/hook': /https only/,
    'file:///etc/passwd': /https only/,
    'not a url': /not a URL/,
    'https://user:pass@example.org/': /credentials/,
    'https://127.0.0.1/hook': /not public/,
    'https://localhost/hook': /not public/,
    'https://10.0.0.1/': /not public/,
    'https://169.254.169.254/latest/meta-data': /not public/,
    'https://[::1]/': /not public/,
    'https://[::ffff:10.0.0.1]/': /not public/,
    'https://0x7f000001/': /not public/,
    'https://2130706433/': /not public/
  }
  for (const [url, reason] of Object.entries(urls)) {
    const request = messageOf('say x', { configuration: { taskPushNotificationConfig: config(url) } })
    await t.rejects(client.sendMessage(request), { message: reason }, url)
  }
  t.equal(world.orchestrator.tasks().length, 0)
})

t.test('webhooks with headers that could be split are refused', async t => {
  const world = await openWorld(t, { settings: { push_private_hosts: ['127.0.0.1'] } })
  const client = await world.client('JSONRPC')
  const bad = [
    { token: 'a\r\nx: y' },
    { token: 'x'.repeat(4_097) },
    { authentication: { scheme: 'Bearer x', credentials: 'y' } },
    { authentication: { scheme: 'Bearer', credentials: '' } },
    { authentication: { scheme: 'Bearer', credentials: 'a\nb' } },
    { id: 'ä' },
    { url: '' },
    { url: `https://127.0.0.1/${'x'.repeat(2_048)}` }
  ]
  for (const more of bad) {
    const request = messageOf('say x', {
      configuration: { taskPushNotificationConfig: config('https://127.0.0.1/', more) }
    })
    await t.rejects(client.sendMessage(request), { message: /webhook/ }, JSON.stringify(more).slice(0, 60))
  }
})

t.test('CORE-CAP-001: webhooks are refused by both bindings if push notifications are off', async t => {
  const token = 'a-token-with-more-than-22-characters'
  const world = await openWorld(t, { settings: { push: false }, others: { http: { port: 0, token, drain_ms: 500 } } })
  const config = { taskId: 'x', id: 'x', url: 'https://example.org/' }
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'say x' }] }
  const calls = {
    CreateTaskPushNotificationConfig: config,
    GetTaskPushNotificationConfig: config,
    ListTaskPushNotificationConfigs: config,
    DeleteTaskPushNotificationConfig: config,
    SendMessage: { message, configuration: { taskPushNotificationConfig: config } }
  }
  for (const binding of bothBindings(world, token)) {
    for (const [operation, params] of Object.entries(calls)) {
      const { error } = await binding.call(operation as Operation, params)
      t.match(error?.details, [{ reason: 'PUSH_NOTIFICATION_NOT_SUPPORTED' }], `${binding.name} ${operation}`)
      t.equal(error?.code, binding.name === 'JSONRPC' ? -32003 : 400)
    }
  }
  t.equal(world.orchestrator.tasks().length, 0)
})

t.test('an address is public only if it is on the internet', async t => {
  const not =
    '0.0.0.0 10.1.2.3 100.64.0.1 127.0.0.1 169.254.1.1 172.16.0.1 192.168.1.1 198.18.0.1 224.0.0.1 255.255.255.255'
  for (const address of not.split(' ')) t.notOk(isPublicAddress(address), address)
  const not6 = ':: ::1 ::ffff:8.8.8.8 64:ff9b::8.8.8.8 fc00::1 fe80::1 ff02::1 2001:db8::1 2002:7f00:1::1 2001::1 x'
  for (const address of not6.split(' ')) t.notOk(isPublicAddress(address), address)
  for (const address of ['8.8.8.8', '172.32.0.1', '2606:4700::1111']) t.ok(isPublicAddress(address), address)
})

t.test('a host with any private address is refused, and one that cannot be resolved is a failure', async t => {
  const rules = (...addresses: string[]) => ({
    privateHosts: [],
    resolve: async () => addresses.map(address => ({ address, family: address.includes(':') ? 6 : 4 }))
  })
  await t.rejects(callbackAddresses('https://hooks.example/', rules('8.8.8.8', '10.0.0.1')), {
    code: 'A2S_CALLBACK_DENIED'
  })
  await t.rejects(callbackAddresses('https://hooks.example/', rules()), { code: 'A2S_CALLBACK_FAILED' })
  const unknown = { privateHosts: [], resolve: () => Promise.reject(new Error('ENOTFOUND')) }
  await t.rejects(callbackAddresses('https://hooks.example/', unknown), { code: 'A2S_CALLBACK_FAILED' })
  const { addresses } = await callbackAddresses('https://hooks.example/', rules('8.8.8.8'))
  t.strictSame(addresses, [{ address: '8.8.8.8', family: 4 }])
})

t.test('the connection is made to the checked address, whatever a later look-up says', async t => {
  const receiver = await openReceiver(t)
  let lookups = 0
  const resolve = async () => {
    lookups += 1
    return [{ address: '127.0.0.1', family: 4 }]
  }
  const host = `hooks.example:${receiver.port}`
  await sendCallback(
    { url: `https://${host}/hook`, headers: {}, body: '{}' },
    {
      privateHosts: [host],
      resolve,
      ca: [readFileSync(CERTIFICATE, 'utf8')],
      signal: new AbortController().signal
    }
  )
  t.equal(lookups, 1)
  t.equal(receiver.received[0]?.headers.host, host)
})

t.test('a receiver with an unknown certificate gets nothing', async t => {
  const receiver = await openReceiver(t)
  const options = { privateHosts: ['127.0.0.1'], signal: new AbortController().signal }
  await t.rejects(sendCallback({ url: receiver.url, headers: {}, body: '{}' }, options), {
    code: 'A2S_CALLBACK_FAILED',
    message: /self-signed/
  })
  t.equal(receiver.received.length, 0)
})
