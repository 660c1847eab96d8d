import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { fakeGateway, sendJson } from '../../../plugins/openclaw/test/fake-gateway.ts'
import { makeProject, pluginPackage } from '../served-project.ts'
import { HOSTILE } from './rows-plugin.ts'

/** Name of a skill that the gateway of the project offers. */
export const SKILL = 'acme/weather'
const EMBEDDINGS = fileURLToPath(new URL('../../../plugins/inference-onnx/test/fixtures/embeddings/', import.meta.url))
const ROWS = 1_200
const FILES = 22
/** As many findings as a rule reports in a file. */
const STUBS_IN_FILE = 50

/** Project with data of every service: secrets, usage of models, findings, an update, a skills gateway,
 * embeddings. */
export async function servicesProject(t: Test): Promise<{ folder: string; env: Readonly<Record<string, string>> }> {
  const skill = { name: SKILL, version: '1.0.0', description: HOSTILE, author: HOSTILE, kind: 'document' }
  const gateway = await fakeGateway(t, {
    http: {
      '/v1/skills': sendJson([skill]),
      [`/v1/skills/${SKILL}`]: sendJson(skill),
      [`/v1/skills/${SKILL}/skill.md`]: (_, response) => void response.end(`# Weather\n\n${HOSTILE}\n`)
    },
    reply: ({ method }) => ({
      payload: method === 'subscriptions.list' ? { subscriptions: [{ domain: HOSTILE, count: 2 }] } : {}
    })
  })
  const stub = `# TODO: finish ${HOSTILE} ${'x'.repeat(200)}\n`
  const folder = makeProject(t, {
    'plugins/needs/package.json': pluginPackage('needs'),
    'plugins/needs/src/plugin.ts': NEEDS,
    ...Object.fromEntries(Array.from({ length: FILES }, (_, at) => [`src/f${at}.gd`, stub.repeat(STUBS_IN_FILE)])),
    'home/last-check.json': JSON.stringify({ checked_at: 1, source: HOSTILE, tag: 'v99.0.0', version: '99.0.0' }),
    'home/last-failure.json': JSON.stringify({ at: 1, action: 'install', message: HOSTILE, hint: HOSTILE }),
    'svc.toml': `kernel.plugin_directories = ["plugins"]
[plugins.agent-fleet]
enabled = false
[plugins.updates]
home = "home"
[plugins.stub-check]
threads = 1
[plugins.providers]
groq_api_key = "gsk-not-a-real-key"
allowed = ["groq"]
[plugins.model-server]
embedding_model = "${EMBEDDINGS}bert"
reranker_model = "${EMBEDDINGS}bert-reranker"
[plugins.openclaw]
url = "${gateway.url}"
ws_url = "${gateway.wsUrl}"
`
  })
  return { folder, env: { HOME: folder, ACME_EMPTY: ' ' } }
}

/** Plugin with required secrets, and with rows of usage that calls of models would have left. */
const NEEDS = `
import { databaseCollections, declaredSecrets } from '@svc/contracts'
import { definePlugin } from '@svc/plugin-sdk'

const HOSTILE = ${JSON.stringify(HOSTILE)}

export default definePlugin({
  name: 'needs',
  summary: 'Needs secrets',
  requires: { collections: databaseCollections },
  async activate(ctx, { collections }) {
    for (const [id, env] of [['acme.key', 'ACME_KEY'], ['acme.empty', 'ACME_EMPTY']] as const)
      ctx.contribute(declaredSecrets, { id, env, policy: 'required', description: HOSTILE, remediation: HOSTILE })
    const rows = collections.collection<any>('provider_usage', { index: 'date' })
    const none = { provider_request_id: null, provider_reported_cost_usd: null, estimated_cost_usd: 0 }
    const state = { reconciled_cost_usd: null, cost_source: null, is_rate_limited: false, last_429: null, cool_down_until: null }
    for (let at = 0; at < ${ROWS}; at++) {
      const date = new Date(Date.now() - (at % 30) * 86_400_000).toISOString().slice(0, 10)
      const model = at % 3 === 0 ? HOSTILE + at : 'x'.repeat(300) + at
      const key = { user_id: 'global', provider: 'groq', model, date, task_category: 'general', agent_id: null }
      await rows.insert({ ...key, ...none, ...state, calls: 10, tokens_in: 1_000, tokens_out: 10, cost_usd: 0.0004 })
    }
  }
})
`
