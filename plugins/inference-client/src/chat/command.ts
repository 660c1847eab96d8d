import { text } from 'node:stream/consumers'
import { type InferenceClient, isOffered, MAX_IMAGES, textModelNames } from '@svc/contracts'
import { type CommandDescriptor, type CommandHandler, type CommandIo, isSvcError, t } from '@svc/plugin-sdk'
import { Conversation, type ConversationOptions, describeSpeed, type Turn } from './conversation.ts'
import { readImage } from './image-files.ts'
import { Lines } from './lines.ts'

export const chatCommand: CommandDescriptor = {
  command: 'model chat',
  summary: 'Chat with a model, or answer one question from standard input',
  input: t.object({
    prompt: t.optional(
      t.string({ minLength: 1, description: 'A question to answer once; without one, starts a conversation.' })
    ),
    model: t.optional(t.string({ minLength: 1, description: 'Name of the model; default: INFER_MODEL.' })),
    image: t.optional(
      t.array(t.string({ minLength: 1 }), {
        maxItems: MAX_IMAGES,
        description: 'Image for the first question: a PNG, JPEG, GIF or WebP file, or an HTTPS URL. Repeatable.'
      })
    ),
    system: t.optional(t.string({ description: 'System prompt for the model.' })),
    temperature: t.optional(
      t.number({
        minimum: 0,
        maximum: 2,
        description: 'Sampling temperature; 0 always selects the most probable token.'
      })
    ),
    max_tokens: t.optional(t.integer({ minimum: 1, description: 'Maximum tokens of an answer.' }))
  }),
  args: ['prompt'],
  aliases: { model: 'm', temperature: 't', max_tokens: 'n' }
}

interface ChatInput {
  readonly prompt?: string
  readonly model?: string
  readonly image?: readonly string[]
  readonly system?: string
  readonly temperature?: number
  readonly max_tokens?: number
}

const HELP = `/system TEXT   sets the system prompt
/model NAME    switches to another model
/image FILE    adds an image to the next question
/models        lists the models of the server
/reset         clears the conversation
/exit          ends the chat, like Ctrl-D
Ctrl-C stops an answer. """ begins and ends a question of several lines.
`

/**
 * Returns the handler of `svc model chat`. Exit codes: 0, 1 if a question fails, 130 if Ctrl-C stops a one-off answer.
 */
export function runChat(client: InferenceClient): CommandHandler {
  return async (given, io) => {
    const input = given as ChatInput
    const { system, temperature, max_tokens } = input
    const options: ConversationOptions = {
      model: await modelFor(client, input.model, io),
      ...(system === undefined ? {} : { system }),
      ...(temperature === undefined ? {} : { temperature }),
      ...(max_tokens === undefined ? {} : { maxTokens: max_tokens })
    }
    const conversation = new Conversation(client, options)
    conversation.images = await Promise.all((input.image ?? []).map(readImage))
    const interactive = input.prompt === undefined && io.stdin.isTTY === true && !io.json
    if (interactive) return talk(client, conversation, io)
    const question = input.prompt ?? (await text(io.stdin)).trim()
    if (question === '') {
      const message = 'no question; pass one as an argument or on standard input'
      io.stderr.write(io.json ? `${JSON.stringify({ error: { message } })}\n` : `error: ${message}\n`)
      return 2
    }
    const turn = await conversation.ask(question, io.signal, part => {
      if (io.json) io.stdout.write(`${JSON.stringify(part)}\n`)
      else if (part.type === 'text') io.stdout.write(part.text)
    })
    finishOne(turn, conversation.options.model, io)
    return turn.stopped ? 130 : 0
  }
}

function finishOne(turn: Turn, model: string, io: CommandIo): void {
  if (!io.json) {
    io.stdout.write('\n')
    return
  }
  const { finishReason, usage, stopped, firstMs } = turn
  const counts =
    usage === null ? null : { prompt_tokens: usage.promptTokens, completion_tokens: usage.completionTokens }
  io.stdout.write(
    `${JSON.stringify({ type: 'done', model, finish_reason: finishReason, stopped, usage: counts, first_ms: firstMs })}\n`
  )
}

/** Returns the requested or configured model; without either, the first model of the server. */
async function modelFor(client: InferenceClient, requested: string | undefined, io: CommandIo): Promise<string> {
  const chosen = requested ?? client.target().model
  if (chosen !== null) return chosen
  const offered = textModelNames(await client.models(io.signal))
  return isOffered(client.model, offered) ? client.model : (offered[0] ?? client.model)
}

async function talk(client: InferenceClient, conversation: Conversation, io: CommandIo): Promise<number> {
  const { url } = await client.endpoint(io.signal)
  io.stdout.write(`${conversation.options.model} at ${url}; /help lists the commands\n`)
  const lines = new Lines(io)
  try {
    for (let line = await lines.next(); line !== null; line = await lines.next()) {
      const typed = line.trim()
      if (typed === '/exit' || typed === '/quit' || typed === '/bye') break
      if (typed === '') continue
      try {
        if (typed.startsWith('/')) await runSlashCommand(typed, client, conversation, io)
        else await answer(typed, conversation, lines, io)
      } catch (error) {
        if (!isSvcError(error)) throw error
        io.stdout.write(`error: ${error.message}${error.hint === undefined ? '' : `\n  hint: ${error.hint}`}\n`)
      }
    }
  } finally {
    lines.close()
  }
  return 0
}

async function answer(question: string, conversation: Conversation, lines: Lines, io: CommandIo): Promise<void> {
  const controller = new AbortController()
  lines.interrupt = () => controller.abort()
  let thinking = false
  try {
    const turn = await conversation.ask(question, controller.signal, part => {
      if (part.type === 'thinking' && !thinking) io.stdout.write(dim(io, 'thinking…\n'))
      if (part.type === 'text' && thinking) io.stdout.write('\n')
      thinking = part.type === 'thinking'
      io.stdout.write(thinking ? dim(io, part.text) : part.text)
    })
    const cut = turn.finishReason === 'length' ? ' (truncated at the limit; raise it with --max-tokens)' : ''
    io.stdout.write(`\n${dim(io, turn.stopped ? '[stopped]' : `[${describeSpeed(turn)}]${cut}`)}\n`)
  } finally {
    lines.interrupt = null
  }
}

async function runSlashCommand(
  typed: string,
  client: InferenceClient,
  conversation: Conversation,
  io: CommandIo
): Promise<void> {
  const [command = '', ...words] = typed.split(/\s+/)
  const rest = words.join(' ')
  const { system: _, ...others } = conversation.options
  if (command === '/help' || command === '/?') io.stdout.write(HELP)
  else if (command === '/reset' || command === '/clear') {
    conversation.reset()
    io.stdout.write('conversation cleared\n')
  } else if (command === '/image' && rest !== '') {
    conversation.images = [...conversation.images, await readImage(rest)]
    io.stdout.write(`images of the next question: ${conversation.images.length}\n`)
  } else if (command === '/models') {
    for (const { name } of await client.models(io.signal)) io.stdout.write(`${name}\n`)
  } else if (command === '/model' && rest !== '') {
    const { problem } = await client.check({ model: rest, signal: io.signal })
    if (problem === null) conversation.options = { ...conversation.options, model: rest }
    io.stdout.write(`${problem ?? `model: ${rest}`}\n`)
  } else if (command === '/system') {
    conversation.options = rest === '' ? others : { ...others, system: rest }
    io.stdout.write(rest === '' ? 'system prompt removed\n' : 'system prompt set\n')
  } else io.stdout.write(`${command} is not a command. Commands:\n${HELP}`)
}

/** Returns the string dimmed, if the output is a terminal and NO_COLOR is not set. */
function dim(io: CommandIo, shown: string): string {
  return io.stdout.isTTY === true && process.env.NO_COLOR === undefined ? `\u001b[2m${shown}\u001b[22m` : shown
}
