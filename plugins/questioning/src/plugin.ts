import {
  clarifications,
  databaseStore,
  kernelPort,
  orchestrator,
  type QuestionAnswered,
  questionAnswered,
  questioning,
  taskSubmitting
} from '@svc/contracts'
import { definePlugin } from '@svc/plugin-sdk'
import { contributeConsole } from './console.ts'
import { answerHandler, inboxHandler, listHandler, pendingHandler, syncHandler } from './handlers.ts'
import {
  operations,
  QUESTIONS_TOPIC,
  questioningAnswer,
  questioningInbox,
  questioningList,
  questioningPending,
  questioningSync
} from './operations.ts'
import { QuestioningService } from './service.ts'
import { SessionAttention } from './session-attention.ts'
import { settings } from './settings.ts'
import { QuestionStore } from './store.ts'
import { SubmitGate } from './submit-gate.ts'

export default definePlugin({
  name: 'questioning',
  summary: 'Asks users questions that are worth their cost',
  config: settings,
  requires: { kernel: kernelPort },
  optional: { database: databaseStore, orchestrator },
  provides: [questioning, clarifications],
  hooks: [questionAnswered],
  operations,
  async activate(ctx, { kernel, database, orchestrator }) {
    const { config } = ctx
    const store = database === undefined ? null : new QuestionStore(database, kernel.repositoryId)
    const attention = orchestrator?.attention ?? null
    const tally = await ctx.keep(
      'session attention',
      () => new SessionAttention(),
      () => undefined
    )
    const changed = (): void => ctx.changed(QUESTIONS_TOPIC)
    const service = new QuestioningService({ store, attention, sessionAttention: tally, settings: config, changed })
    ctx.provide(questioning, service)
    ctx.provide(clarifications, service)
    ctx.implement(questioningPending, pendingHandler(store))
    const answered = (answer: QuestionAnswered): void => {
      changed()
      ctx
        .trigger(questionAnswered, answer)
        .catch((error: unknown) => ctx.log.warn('an answer could not be announced', { error }))
    }
    ctx.implement(questioningAnswer, answerHandler(store, attention, answered))
    ctx.implement(questioningList, listHandler(store))
    ctx.implement(questioningInbox, inboxHandler(store))
    contributeConsole(ctx)
    ctx.implement(questioningSync, syncHandler(database, ctx.projectRoot, config.policy_document))
    if (store === null || orchestrator === undefined || config.bypass_submit_gate) return
    const gate = new SubmitGate(store, ctx.log)
    ctx.on(taskSubmitting, submission => gate.check(submission))
    ctx.effect(
      'orchestrator events',
      orchestrator.subscribe(event => gate.observe(event))
    )
  }
})
