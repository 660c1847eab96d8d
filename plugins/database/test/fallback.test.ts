import './built-worker.ts'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { databaseStore, type HttpServer, httpServer, type PrimaryDatabase } from '@svc/contracts'
import http from '@svc/plugin-http'
import { definePlugin, type Plugin, ref } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import t, { type Test } from 'tap'
import database from '#plugin'
import { databaseRestore, databaseStatus, PrimaryStore } from '#root'
import { freshFile } from './files.ts'

/** Starts a listener and a database that nothing has used yet. */
async function served(t: Test) {
  const data = `${freshFile()}-data`
  const { XDG_DATA_HOME } = process.env
  process.env.XDG_DATA_HOME = data
  t.teardown(() => {
    if (XDG_DATA_HOME === undefined) delete process.env.XDG_DATA_HOME
    else process.env.XDG_DATA_HOME = XDG_DATA_HOME
  })
  let held: { readonly server: { readonly current: HttpServer }; readonly store: PrimaryDatabase }
  const probe = definePlugin({
    name: 'probe',
    requires: { server: ref(httpServer), store: databaseStore },
    activate(_ctx, dependencies) {
      held = dependencies
    }
  })
  const kernel = await testKernel([http as Plugin, database, probe], { settings: { http: { port: 0 } } })
  t.teardown(() => kernel.close())
  const ready = async () => {
    const answer = await fetch(`${held.server.current.addresses[0]?.url}/ready`)
    const { checks } = (await answer.json()) as { checks: readonly { readonly name: string }[] }
    return { status: answer.status, check: checks.find(({ name }) => name === 'database') }
  }
  return { kernel, ready, store: () => held.store, canonical: join(data, 'svc', 'vox.db') }
}

t.test('/ready and the status say that the database of the user is a fallback', async t => {
  const { kernel, ready, store, canonical } = await served(t)
  const { location } = store()
  mkdirSync(location, { recursive: true })
  await store().execute("INSERT INTO users (id) VALUES ('a')")
  t.equal(store().location, canonical)
  const degraded = `degraded: ${canonical} is used as a fallback, because ${location} cannot be written`
  t.match(await ready(), { status: 200, check: { ok: true, detail: `schema version 1; ${degraded}` } })
  t.match(await kernel.call(databaseStatus, {}), { location: canonical, fallback_of: location, text: degraded })
})

t.test('a damaged database is refused, and a restore makes it ready again', async t => {
  const { kernel, ready, store, canonical } = await served(t)
  const { location } = store()
  mkdirSync(dirname(location), { recursive: true })
  writeFileSync(location, randomBytes(8_192))
  const problem = `${location}: file is not a database`
  t.match(await ready(), { status: 503, check: { ok: false, detail: problem } })
  await t.rejects(store().execute("INSERT INTO users (id) VALUES ('a')"), {
    code: 'DBS_CORRUPT',
    message: problem,
    hint: /svc db restore FILE .*move .* away/
  })
  t.match(await kernel.call(databaseStatus, {}), { healthy: false, location, fallback_of: null, text: problem })
  t.notOk(existsSync(canonical))

  const file = await backup()
  const { kept } = await kernel.call(databaseRestore, { file })
  t.ok(existsSync(String(kept)), 'the damaged file is kept')
  t.match(await ready(), { status: 200, check: { ok: true } })
})

/** Writes a backup of an empty database with the baseline schema. */
async function backup(): Promise<string> {
  const [original, copy] = [freshFile(), freshFile()]
  const store = new PrimaryStore({
    place: { mode: 'file', file: original, fallback: null },
    projectRoot: dirname(original),
    breaker: null,
    busyTimeoutMs: 2_000,
    synchronous: 'normal',
    remoteTimeoutMs: 2_000,
    signal: new AbortController().signal,
    backups: dirname(copy),
    warn: () => undefined
  })
  await store.backup(copy)
  await store.close()
  return copy
}
