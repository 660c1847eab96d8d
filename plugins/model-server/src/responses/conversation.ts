import type { ChatMessage, LoadedModel } from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import { invalid } from '../body-reader.ts'
import { type ChatIntent, planChat } from '../chat-plan.ts'
import { withDefaultMessages } from '../defaults/model-defaults.ts'
import { errors } from '../errors.ts'
import { promptTokens } from '../prompt.ts'
import type { ServedModel } from '../served-model.ts'
import { messagesOf, type PlacedItem } from './input.ts'
import { type Item, referencesIn, responseOfItem } from './items.ts'
import { MAX_CHAIN, MAX_CHAIN_CHARACTERS, type ResponseStore, type StoredResponse } from './response-store.ts'

/** Returns the error for a response that does not exist or belongs to another caller. */
export function unknownResponse(id: string, param: string): Error {
  return errors.create('MSV_RESPONSE_UNKNOWN', `there is no stored response or item '${id.slice(0, 80)}'`, {
    data: { param },
    hint: 'Send the whole conversation as input. Responses are kept only if store is not false, and for a limited time.'
  })
}

/** Parts of a request that name earlier responses. */
export interface ConversationSource {
  readonly input: string | readonly object[]
  readonly previousId: string | undefined
  readonly instructions: string | undefined
}

export interface ResolvedConversation {
  readonly messages: readonly ChatMessage[]
  /** The input with items in place of references. */
  readonly input: string | readonly object[]
}

/**
 * Resolves to the messages of a conversation: those of the previous responses, then the input. Throws
 * `MSV_RESPONSE_UNKNOWN`, `MSV_REQUEST_INVALID` and `MSV_UNSUPPORTED`.
 */
export async function conversationOf(
  { input, previousId, instructions }: ConversationSource,
  store: ResponseStore,
  owner: string
): Promise<ResolvedConversation> {
  const earlier = previousId === undefined ? [] : await earlierItems(store, owner, previousId)
  if (typeof input === 'string') {
    const item = { type: 'message', role: 'user', content: input }
    return { messages: messagesOf([...earlier, { item, field: 'input' }], instructions), input }
  }
  const referenced = await referencedItems(store, owner, input)
  let characters = 0
  const items = input.map((each, at): PlacedItem => {
    const item = each as PlacedItem['item']
    const field = `input[${at}]`
    if (item.type !== 'item_reference') return { item, field }
    const found = referenced.get(item.id as string)
    if (found === undefined) throw unknownResponse(item.id as string, `${field}.id`)
    // An item may be named many times.
    characters += found.characters
    if (characters > MAX_CHAIN_CHARACTERS) throw tooManyReferenced()
    return { item: found.item, field }
  })
  return { messages: messagesOf([...earlier, ...items], instructions), input: items.map(({ item }) => item) }
}

async function earlierItems(store: ResponseStore, owner: string, id: string): Promise<readonly PlacedItem[]> {
  const chain = await store.chain(owner, id)
  const [oldest] = chain
  if (oldest === undefined) throw unknownResponse(id, 'previous_response_id')
  if (oldest.previousId !== null) {
    throw invalid(
      `'previous_response_id' continues a conversation of which an earlier response was deleted, or which has more than ${MAX_CHAIN} responses or ${MAX_CHAIN_CHARACTERS} characters; send the conversation as 'input'`,
      'previous_response_id'
    )
  }
  return chain.flatMap(itemsOf).map(item => ({ item, field: 'previous_response_id' }))
}

interface ReferencedItem {
  readonly item: Item
  /** Size of its JSON. */
  readonly characters: number
}

/** Reads one response at a time, and keeps only the items that the input names. */
async function referencedItems(
  store: ResponseStore,
  owner: string,
  input: readonly object[]
): Promise<ReadonlyMap<string, ReferencedItem>> {
  const ids = new Set(referencesIn(input))
  const found = new Map<string, ReferencedItem>()
  let total = 0
  for (const response of new Set([...ids].flatMap(id => responseOfItem(id) ?? []))) {
    for (const item of (await store.find(owner, [response])).flatMap(itemsOf)) {
      if (item.id === undefined || !ids.has(item.id)) continue
      const characters = JSON.stringify(item).length
      total += characters
      if (total > MAX_CHAIN_CHARACTERS) throw tooManyReferenced()
      found.set(item.id, { item, characters })
    }
  }
  return found
}

function tooManyReferenced(): Error {
  return invalid(`the items that 'input' refers to have more than ${MAX_CHAIN_CHARACTERS} characters in total`, 'input')
}

/** Returns the items of a response: its input and its output. */
function itemsOf({ input, response }: StoredResponse): readonly Item[] {
  return [...input, ...((response.output ?? []) as readonly Item[])]
}

/**
 * Returns the conversation without its oldest turns, so that the prompt fits into the context. System messages at the
 * beginning stay. If not even the last turn fits, returns the whole conversation, which is refused later.
 */
export async function truncated(model: LoadedModel, served: ServedModel, intent: ChatIntent): Promise<ChatIntent> {
  const { messages } = intent
  const system = messages.findIndex(({ role }) => role !== 'system')
  const head = messages.slice(0, Math.max(0, system))
  const turns = messages.flatMap(({ role }, at) => (role === 'user' && at > system ? [at] : []))
  const from = (start: number): ChatIntent => ({ ...intent, messages: [...head, ...messages.slice(start)] })
  if (turns.length === 0 || (await fits(model, served, intent))) return intent
  let low = 0
  let high = turns.length - 1
  if (!(await fits(model, served, from(turns[high] as number)))) return intent
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (await fits(model, served, from(turns[middle] as number))) high = middle
    else low = middle + 1
  }
  return from(turns[low] as number)
}

async function fits(model: LoadedModel, served: ServedModel, intent: ChatIntent): Promise<boolean> {
  try {
    const { prompt } = await planChat(model, served.name, withDefaultMessages(intent, served.defaults))
    promptTokens(model, prompt, model.info.contextLength)
    return true
  } catch (error) {
    if (isSvcError(error, 'MSV_CONTEXT_EXCEEDED')) return false
    throw error
  }
}
