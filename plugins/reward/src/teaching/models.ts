import {
  type InferenceChatEvent,
  type InferenceClient,
  type InferenceProviders,
  isLoopback,
  type LocalLane,
  textModelNames,
  unlessChosen
} from '@svc/contracts'
import { withTimeout } from '@svc/plugin-sdk'
import { type Link, MAX_TOKENS, NotSetUp } from './link.ts'
import { MAX_READ } from './plain-text.ts'

const PROBE_MS = 2_000
/** Free models of OpenRouter that are tried: their limits are often used up. */
const MAX_FREE_MODELS = 3
/** Model that svc contains. It writes only short programs. */
const BUNDLED_MODEL = /^vox-tiny(:latest)?$/
/** Gemini models that do not write text. */
const OTHER_USE = /image|audio|tts|live|embedding/

/** Services of models; undefined without the plugin that provides them. */
export interface ModelServices {
  readonly local: () => LocalLane | undefined
  readonly client: () => InferenceClient | undefined
  readonly providers: () => InferenceProviders | undefined
}

/**
 * The configured model server. It is asked only if it answers within two seconds. `onlyHere`: not if it is on another
 * machine.
 */
export function localLink({ local }: Pick<ModelServices, 'local'>, onlyHere: boolean): Link {
  return {
    name: 'local',
    async write(prompt, signal) {
      const lane = local()
      if (lane === undefined) throw new NotSetUp('the plugin inference-client is not active')
      await withTimeout(PROBE_MS, stop => probe(lane, onlyHere, stop), { signal })
      return await read(lane.chat({ ...requestOf(prompt), signal }))
    }
  }
}

/** Gemini at Google, by the plugin `providers`. */
export function geminiLink(services: ModelServices): Link {
  return {
    name: 'gemini',
    async write(prompt, signal) {
      const names = await namesOf(services, 'google')
      const texts = names.filter(name => name.includes('gemini') && !OTHER_USE.test(name))
      const model = texts.find(name => name.includes('lite')) ?? texts.find(name => name.includes('flash')) ?? texts[0]
      if (model === undefined) throw new NotSetUp('no Gemini model is usable: set GEMINI_API_KEY')
      return await ask(services, model, prompt, signal)
    }
  }
}

/** Models of OpenRouter without a price, by the plugin `providers`. */
export function openRouterLink(services: ModelServices): Link {
  return {
    name: 'openrouter',
    async write(prompt, signal) {
      const models = (await namesOf(services, 'openrouter')).filter(name => name.endsWith(':free'))
      let failure: unknown = new NotSetUp('no free model of OpenRouter is usable: set OPENROUTER_API_KEY')
      for (const model of models.slice(0, MAX_FREE_MODELS)) {
        try {
          const text = await ask(services, model, prompt, signal)
          if (text.trim() !== '') return text
          failure = new Error(`${model} answered nothing`)
        } catch (error) {
          signal.throwIfAborted()
          failure = error
        }
      }
      throw failure
    }
  }
}

async function probe(lane: LocalLane, onlyHere: boolean, signal: AbortSignal): Promise<void> {
  const { url, api, headers } = await lane.connection(signal)
  if (onlyHere && !isLoopback(new URL(url).hostname))
    throw new NotSetUp(`the model server ${url} is on another machine: teaching = "local" does not ask it`)
  const model = unlessChosen(lane.model, textModelNames(await lane.models(signal)))
  if (BUNDLED_MODEL.test(model))
    throw new NotSetUp(`the model ${model} writes only programs: set INFER_URL to the address of another model server`)
  // Servers in OpenAI's format have no such route; their list of models was just read.
  if (api !== 'ollama') return
  const response = await fetch(`${url}/api/version`, { headers, signal, redirect: 'error' })
  await response.body?.cancel()
  if (!response.ok) throw new Error(`GET ${url}/api/version answered ${response.status}`)
}

async function namesOf({ client, providers }: ModelServices, provider: string): Promise<readonly string[]> {
  const available = providers()
  if (available === undefined || client() === undefined) throw new NotSetUp('the plugin providers is not active')
  return (await available.models()).filter(({ family }) => family === provider).map(({ name }) => name)
}

async function ask({ client }: ModelServices, model: string, prompt: string, signal: AbortSignal): Promise<string> {
  const available = client()
  if (available === undefined) throw new NotSetUp('the plugin inference-client is not active')
  const purpose = { agent: 'reward', category: 'general', costPreference: 'economy' } as const
  return await read(available.chat({ ...requestOf(prompt), model, purpose, signal }))
}

function requestOf(text: string) {
  return { messages: [], prompt: { text, raw: false }, maxTokens: MAX_TOKENS } as const
}

/** Returns the text of a complete answer, or of a longer one as much as can be shown. */
async function read(events: AsyncIterable<InferenceChatEvent>): Promise<string> {
  let text = ''
  for await (const event of events) {
    if (event.type === 'text') text += event.text
    if (text.length >= MAX_READ) break
  }
  return text
}
