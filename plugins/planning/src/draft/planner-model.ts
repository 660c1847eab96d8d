import type { ChatMessage, InferenceClient } from '@svc/contracts'
import { type ModelPlan, modelPlanSchema, parseModelPlan } from './model-plan.ts'

/** A language model, or a stub that always gives the same reply. */
export interface PlannerModel {
  readonly source: 'model' | 'stub'
  reply(request: ModelRequest): Promise<ModelReply>
}

export interface ModelRequest {
  readonly messages: readonly ChatMessage[]
  readonly maxTokens: number
  readonly format: Readonly<Record<string, unknown>>
  readonly temperature?: number
  readonly topP?: number
  readonly signal: AbortSignal
}

export interface ModelReply {
  readonly text: string
  readonly promptTokens: number
  readonly completionTokens: number
}

const BYTES_PER_TOKEN = 4

/** Returns a model that collects the streamed reply of an inference client. `session`: session of the plan. */
export function clientModel(client: InferenceClient, session?: string): PlannerModel {
  return {
    source: 'model',
    async reply({ messages, maxTokens, format, temperature, topP, signal }) {
      let text = ''
      let promptTokens = 0
      let completionTokens = 0
      const events = client.chat({
        messages,
        maxTokens,
        format,
        signal,
        purpose: { category: 'planning', ...(session === undefined ? {} : { session }) },
        ...(temperature === undefined ? {} : { temperature }),
        ...(topP === undefined ? {} : { topP })
      })
      for await (const event of events) {
        if (event.type === 'text') text += event.text
        if (event.type === 'done') ({ promptTokens, completionTokens } = event.usage)
      }
      return { text, promptTokens, completionTokens }
    }
  }
}

/** Returns a model whose reply is always `body`. */
export function stubModel(body: string): PlannerModel {
  return {
    source: 'stub',
    async reply({ messages }) {
      const tokens = (text: string) => Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN)
      return {
        text: body,
        promptTokens: messages.reduce((sum, { content }) => sum + tokens(content), 0),
        completionTokens: tokens(body)
      }
    }
  }
}

export interface PlanReply {
  /** Null after two consecutive replies without a plan. */
  readonly plan: ModelPlan | null
  readonly tokens: number
  readonly promptTokens: number
  readonly completionTokens: number
}

/** Requests a plan; repeats the request once if the reply is no plan. Throws the errors of the model. */
export async function requestPlan(
  model: PlannerModel,
  request: Omit<ModelRequest, 'format'>,
  maxTasks: number
): Promise<PlanReply> {
  const format = modelPlanSchema(maxTasks)
  const first = await model.reply({ ...request, format })
  let promptTokens = first.promptTokens
  let completionTokens = first.completionTokens
  let plan = parseModelPlan(first.text, maxTasks)
  if (plan === null) {
    const messages: ChatMessage[] = [
      ...request.messages,
      { role: 'assistant', content: first.text },
      { role: 'user', content: 'That was not the requested JSON object. Reply with only that object.' }
    ]
    const second = await model.reply({ ...request, messages, format })
    promptTokens += second.promptTokens
    completionTokens += second.completionTokens
    plan = parseModelPlan(second.text, maxTasks)
  }
  return { plan, tokens: promptTokens + completionTokens, promptTokens, completionTokens }
}
