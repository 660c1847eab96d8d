import type { ModelHooks } from '@svc/contracts'
import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import type { Grammars } from './grammars.ts'
import { GENERATE_ERRORS, GENERATE_TIMEOUT_MS, generateText } from './operations.ts'
import type { ServedModels } from './served-models.ts'

export const modelRun = defineOperation({
  id: 'model.run',
  summary: 'Load a model by name, and answer a prompt with it',
  description: 'Without a prompt, the model is only loaded. For a conversation: svc model chat --model NAME.',
  input: t.object({
    model: t.string({ minLength: 1, description: 'Name of the model.' }),
    prompt: t.optional(t.string({ minLength: 1, description: 'Prompt for the model.' }))
  }),
  output: t.object({
    model: t.string(),
    text: t.string({ description: 'Answer; without a prompt, the state of the model.' })
  }),
  events: t.string({ description: 'The next piece of the answer.' }),
  errors: GENERATE_ERRORS,
  effect: 'write',
  timeoutMs: GENERATE_TIMEOUT_MS,
  expose: {
    http: { method: 'POST', path: '/api/models/run' },
    rpc: true,
    cli: { command: 'model run', args: ['model', 'prompt'], view: { text: 'text' } }
  }
})

export function runModel(models: ServedModels, grammars: Grammars, hooks: ModelHooks): Handler<typeof modelRun> {
  const generate = generateText(models, grammars, hooks)
  return async ({ model, prompt }, call) => {
    if (prompt !== undefined) {
      const answer = await generate({ model, prompt }, call)
      return { model: answer.model, text: answer.text }
    }
    const { served, weights } = await models.slot(model)
    served.check(model)
    const use = await weights.use(call.signal)
    use.release()
    return { model: served.name, text: served.describe() }
  }
}
