import { fileURLToPath } from 'node:url'
import { type HttpServer, httpServer, inferenceGrammars } from '@svc/contracts'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import t, { type Test } from 'tap'
import '../../database/test/built-worker.ts'
import compiler from '@svc/plugin-compiler'
import database from '@svc/plugin-database'
import http from '@svc/plugin-http'
import inference from '@svc/plugin-inference-client'
import engine from '@svc/plugin-inference-onnx'
import modelServer from '@svc/plugin-model-server'
import orchestrator from '@svc/plugin-orchestrator'
import questioning from '@svc/plugin-questioning'
import sessions from '@svc/plugin-sessions'
import web from '@svc/plugin-web'
import { chat } from '#chat'
import { generateCode } from '#generate'
import { isPrefixOf, voxGrammar, voxNamedGrammar } from '#grammar'
import assistant from '#plugin'

const BUNDLED = fileURLToPath(new URL('../../model-server/models/vox-tiny', import.meta.url))

/**
 * Opens the assistant with the bundled model, which a second kernel serves on a real socket with the plugin's grammar.
 */
async function open(t: Test, settings: object) {
  let server: HttpServer | undefined
  const probe = definePlugin({
    name: 'probe',
    requires: { server: httpServer },
    activate: (_ctx, deps) => {
      server = deps.server
    }
  })
  const grammar = definePlugin({ name: 'grammar', activate: ctx => ctx.contribute(inferenceGrammars, voxNamedGrammar) })
  const base = { http: { main: false }, 'model-server': { port: 0, model: BUNDLED, model_name: 'vox-tiny' } }
  const serving = await testKernel([engine, modelServer, http, grammar, probe] as Plugin[], { settings: base })
  t.teardown(() => serving.close())
  const url = server?.addresses[0]?.url ?? ''
  while (!(await fetch(`${url}/ready`)).ok);
  const client = { url, model: 'vox-tiny', max_tokens: 48, temperature: 0 }
  const asking = [database, orchestrator, sessions, questioning, web, compiler, inference, assistant]
  const kernel = await testKernel(asking as Plugin[], { settings: { 'inference-client': client, assistant: settings } })
  t.teardown(() => kernel.close())
  return kernel
}

t.test('the bundled model writes a program that compiles, and answers a chat message', async t => {
  const kernel = await open(t, { grammar_mask: true })
  const made = await kernel.call(generateCode, {
    prompt: 'make a table of books with a title and a price',
    max_retries: 0
  })
  t.match(made, { valid: true, attempts: 1, model_used: 'vox-tiny', code: /@table[\s\S]*Book/ })
  t.same(made.meta.grammar_mask, { requested: true, applied: true, reason: null })
  const reply = await kernel.call(chat, { prompt: 'hello', session_id: 'chat' })
  t.equal(reply.model_used, 'vox-tiny')
  t.ok(reply.tokens > 0)
  t.equal(reply.history.length, 2)
})

t.test('the grammar mask allows only prefixes of valid texts, for any prompt', async t => {
  const kernel = await open(t, { grammar_mask: true })
  for (const prompt of ['hello', 'explain in prose what a table is']) {
    const { code } = await kernel.call(generateCode, { prompt, validate: false })
    t.ok(isPrefixOf(voxGrammar(), code), code)
  }
})
