import { defined, errorMessage, type Logger } from '@svc/plugin-sdk'
import type { FastifyInstance } from 'fastify'
import { invalid } from '../body-reader.ts'
import { startChat } from '../chat-answer.ts'
import { clientOf } from '../client.ts'
import { errors } from '../errors.ts'
import { adapterOf } from '../served-model.ts'
import { replySignal, sendStream } from '../stream-reply.ts'
import { unsupported } from '../unsupported-fields.ts'
import { contextOf } from '../wire-error.ts'
import type { WireServices } from '../wire-services.ts'
import { ownerOf } from './caller.ts'
import { conversationOf, truncated, unknownResponse } from './conversation.ts'
import { storedItems } from './input.ts'
import { type Item, itemId } from './items.ts'
import { responseEvents, type Save, wholeResponse } from './reply.ts'
import { readResponsesRequest } from './request.ts'
import { newResponseId, responseHead } from './response.ts'
import type { ResponseStore } from './response-store.ts'

const PAGE_ITEMS = 20
const MAX_PAGE_ITEMS = 100

interface ById {
  Params: { id: string }
  Querystring: Readonly<Record<string, string | string[] | undefined>>
}

/** Adds routes of the OpenAI Responses API. The scope has the error handler and the body parser of the OpenAI APIs. */
export function responsesRoutes(scope: FastifyInstance, services: WireServices): void {
  const { models, log } = services
  const keyRequired = services.apiKey !== undefined

  scope.post('/v1/responses', async (request, reply) => {
    const asked = readResponsesRequest(request.body, services.grammars)
    const { body } = asked
    const client = clientOf(request)
    const owner = ownerOf(request, keyRequired)
    const startedAt = performance.now()
    const gone = replySignal(reply)
    const { served, completions, weights } = await models.choose(body.model, gone)
    const variant = served.find(body.model)
    const store = services.responses()
    const stored = (body.store ?? true) && (await canStore(store, body.store === true, log))
    const source = { input: body.input, previousId: body.previous_response_id, instructions: body.instructions }
    const { messages, input } = await conversationOf(source, store, owner)
    const { tools, constraint, thinking } = asked
    const intent = { messages, thinkingField: 'reasoning.effort', ...defined({ tools, constraint, thinking }) }
    const { model } = await weights.use(gone)
    const fitting = body.truncation === 'auto' ? await truncated(model, served, intent) : intent
    const options = { ...asked.options, ...adapterOf(variant), client, startedAt }
    const taps = services.taps(request.headers, variant)
    const { events } = await startChat(served, completions, { intent: fitting, options }, gone, taps)
    const id = newResponseId()
    const temperature = body.temperature ?? completions.limits.temperature
    const head = responseHead(body, { id, model: variant.name, temperature, stored })
    const save: Save = async response => {
      if (!stored) return response
      const items = storedItems(input, (type, index) => itemId(id, type, index, 'input'))
      try {
        await store.save(owner, { id, previousId: body.previous_response_id ?? null, response, input: items })
        return response
      } catch (error) {
        log.warn('a response was not stored', { error })
        return { ...response, store: false }
      }
    }
    if (!asked.stream) return wholeResponse(head, events, asked.summary, save)
    const pieces = responseEvents(head, events, asked.summary, save, contextOf(request, log))
    return sendStream(reply, 'text/event-stream; charset=utf-8', pieces, services.stallMs())
  })

  scope.get<ById>('/v1/responses/:id', async request => {
    if (request.query.stream === 'true') throw unsupported('stream', 'only a new response can be streamed')
    return (await storedResponse(services, request, keyRequired)).response
  })

  scope.delete<ById>('/v1/responses/:id', async request => {
    const { id } = request.params
    if (!(await services.responses().delete(ownerOf(request, keyRequired), id)))
      throw unknownResponse(id, 'response_id')
    return { id, object: 'response', deleted: true }
  })

  scope.get<ById>('/v1/responses/:id/input_items', async request => {
    const { input } = await storedResponse(services, request, keyRequired)
    return pageOf(input, request.query)
  })
}

async function storedResponse(
  services: WireServices,
  request: { readonly params: ById['Params'] } & Parameters<typeof ownerOf>[0],
  keyRequired: boolean
) {
  const { id } = request.params
  const [found] = await services.responses().find(ownerOf(request, keyRequired), [id])
  if (found === undefined) throw unknownResponse(id, 'response_id')
  return found
}

/** Resolves to whether responses can be stored. Throws `MSV_STORE_FAILED` if they cannot and the request requires it. */
async function canStore(store: ResponseStore, required: boolean, log: Logger): Promise<boolean> {
  try {
    await store.prepare()
    return true
  } catch (cause) {
    if (required) {
      throw errors.create('MSV_STORE_FAILED', `the response cannot be stored: ${errorMessage(cause)}`, {
        cause,
        hint: 'Repair the database, or send store: false.'
      })
    }
    log.warn('responses are not stored, because the database cannot be used', { error: cause })
    return false
  }
}

/** Returns one page of items: `limit` (1 to 100, default 20), `order` (`desc` by default) and `after`, the id of an item. */
function pageOf(input: readonly Item[], { limit, order = 'desc', after }: ById['Querystring']): object {
  const size = limit === undefined ? PAGE_ITEMS : Number(limit)
  if (!Number.isInteger(size) || size < 1 || size > MAX_PAGE_ITEMS) {
    throw invalid(`'limit' must be an integer from 1 to ${MAX_PAGE_ITEMS}`, 'limit')
  }
  if (order !== 'asc' && order !== 'desc') throw invalid(`'order' must be one of 'asc', 'desc'`, 'order')
  const all = order === 'asc' ? input : input.toReversed()
  const at = after === undefined ? -1 : all.findIndex(({ id }) => id === after)
  if (after !== undefined && at < 0) throw invalid(`'after' must be the id of an input item`, 'after')
  const data = all.slice(at + 1, at + 1 + size)
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: at + 1 + size < all.length
  }
}
