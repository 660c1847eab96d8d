import { copyFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { type HttpServer, httpServer, type Orchestrator, orchestrator as orchestratorToken } from '@svc/contracts'
import { definePlugin, type Plugin, ref } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import t, { type Test } from 'tap'
import '../../../database/test/built-worker.ts'
import database from '@svc/plugin-database'
import { databaseStatus } from '@svc/plugin-database/testing'
import http from '@svc/plugin-http'
import plugin from '#plugin'
import { openOrchestrator } from '#service'
import { defaultSettings } from '../default-settings.ts'
import { freshFile, openStore } from './test-persistence.ts'

const task = { description: 'Do it', files: [] }
const DONE = { checks_passed: ['tests'] }

/** Opens an orchestrator with a database and a listener, as in `svc serve`. */
async function served(t: Test) {
  let held: { readonly orchestrator: { readonly current: Orchestrator }; readonly server: { current: HttpServer } }
  const probe = definePlugin({
    name: 'probe',
    requires: { orchestrator: ref(orchestratorToken), server: ref(httpServer) },
    activate(_ctx, dependencies) {
      held = dependencies
    }
  })
  const settings = { http: { port: 0 }, orchestrator: { stubcheck_gate: false } }
  const kernel = await testKernel([http as Plugin, database, plugin as Plugin, probe], { settings })
  t.teardown(() => kernel.close())
  const { location } = await kernel.call(databaseStatus, {})
  return {
    file: location,
    orchestrator: () => held.orchestrator.current,
    ready: () => fetch(`${held.server.current.addresses[0]?.url}/ready`)
  }
}

const LOSSES: Readonly<Record<string, (file: string) => void>> = {
  removed: file => rmSync(dirname(file), { recursive: true }),
  'overwritten with text': file => writeFileSync(file, 'text instead of a database'),
  'replaced by a copy': file => {
    copyFileSync(file, `${file}.copy`)
    renameSync(`${file}.copy`, file)
  }
}

for (const [name, lose] of Object.entries(LOSSES)) {
  t.test(`rejects submits while the database file is ${name}`, async t => {
    const { file, orchestrator, ready } = await served(t)
    const { task_id } = await orchestrator().submit(task)
    t.equal((await ready()).status, 200)
    lose(file)
    const refused = { code: 'ORC_NOT_DURABLE', message: /was not made durable/, hint: /restore the file, or restart/ }
    await t.rejects(orchestrator().submit(task), refused)
    await t.rejects(orchestrator().complete(task_id, DONE), refused)
    const many = await Promise.allSettled(Array.from({ length: 20 }, () => orchestrator().submit(task)))
    t.same([...new Set(many.map(({ status }) => status))], ['rejected'])
    t.match(orchestrator().status().outbox, { failing: /DBS_FILE_LOST/ })
    const answer = await ready()
    t.equal(answer.status, 503)
    t.match(await answer.json(), { status: String })
  })
}

t.test('writes new and waiting changes once the file is restored', async t => {
  const file = freshFile()
  const { service, close } = await openOrchestrator({
    settings: defaultSettings({ stubcheck_gate: false }),
    repositoryId: 'repo',
    root: dirname(file),
    store: await openStore(file),
    log: { debug() {}, info() {}, warn() {}, error: message => t.fail(message) },
    ended: async () => {},
    envelope: async () => null
  })
  await service.submit(task)
  renameSync(file, `${file}.moved`)
  await t.rejects(service.submit(task), { code: 'ORC_NOT_DURABLE' })
  renameSync(`${file}.moved`, file)
  while (service.status().outbox.pending > 0) await new Promise(resolve => setTimeout(resolve, 50))
  await service.submit(task)
  t.equal(service.status().outbox.failing, null)
  t.equal(service.tasks().length, 3)
  await close()
})
