import {
  type Orchestrator,
  orchestrator as orchestratorToken,
  type Questioning,
  questioning as questioningToken,
  taskSubmitting
} from '@svc/contracts'
import database from '@svc/plugin-database'
import { definePlugin, type Plugin, ref } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import t from 'tap'
import '../../database/test/built-worker.ts'
import orchestrator from '@svc/plugin-orchestrator'
import plugin from '#plugin'
import { questioningAnswer, questioningPending } from '#root'
import { defaultSettings } from '../../orchestrator/test/default-settings.ts'
import { candidate } from './candidate.ts'

t.test(
  "a question is charged to the orchestrator's attention budget, and blocks tasks until it is answered",
  async t => {
    let agents: { readonly current: Orchestrator } | undefined
    let questions: { readonly current: Questioning } | undefined
    const probe = definePlugin({
      name: 'probe',
      requires: { agents: ref(orchestratorToken), questions: ref(questioningToken) },
      activate(_ctx, deps) {
        agents = deps.agents
        questions = deps.questions
      }
    })
    const kernel = await testKernel([database, orchestrator, plugin, probe] as Plugin[], {
      settings: { orchestrator: defaultSettings({ attention_enabled: true }) }
    })
    t.teardown(() => kernel.close())
    const { attention } = agents!.current
    t.ok((await questions!.current.consider(candidate())).asked)
    const { spent_ms } = attention.state()
    t.ok(spent_ms > 0)
    await questions!.current.debit('s', 500)
    t.equal(attention.state().spent_ms, spent_ms + 500)
    const request = { description: 'open the port', files: [], session_id: 's' }
    const principal = { id: 'local', role: 'admin', scopes: ['*'] }
    const submission = { surface: 'svc_submit_task', request, principal }
    await t.rejects(kernel.trigger(taskSubmitting, submission), { code: 'QST_ANSWER_FIRST' })
    await kernel.call(questioningAnswer, { session_id: 's', answer_text: '80' })
    t.ok(attention.events().some(({ kind, cost_ms }) => kind === 'ClarificationAnswered' && cost_ms === 0))
    await kernel.trigger(taskSubmitting, submission)
    await agents!.current.submit(request)
    const end = Date.now() + 120_000
    let open = true
    while (open && Date.now() < end) open = (await kernel.call(questioningPending, { session_id: 's' })).open
    t.notOk(open, 'the clarification session is closed')
    // With an exhausted attention budget, only questions of high gain are asked.
    attention.debit(attention.state().max_attention_ms, 'Interrupted')
    const poor = candidate({ expected_information_gain_bits: 0.1, confidence: 0.5 })
    t.match(await questions!.current.consider(poor), { asked: false, stop_reason: 'policy_deferred' })
  }
)
