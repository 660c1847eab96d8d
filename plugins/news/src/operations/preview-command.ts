import { type CommandDescriptor, type CommandHandler, defined, t } from '@svc/plugin-sdk'
import { digestOf } from '../publishing/compose.ts'
import { previewsOf } from '../publishing/previews.ts'
import type { Dependencies } from './handlers.ts'
import { sideBySide } from './side-by-side.ts'

const DEFAULT_WIDTH = 100

/** A command, since only a command knows the width of the terminal. */
export const previewCommand = {
  command: 'news preview',
  summary: 'Show the texts that each channel would send, side by side',
  input: t.object({
    id: t.string({ minLength: 1, maxLength: 128, description: 'Id of the item' }),
    channels: t.optional(t.array(t.string(), { description: 'Channels; default: all of the item' })),
    width: t.optional(
      t.integer({ minimum: 20, maximum: 1_000, description: 'Columns; default: those of the terminal' })
    )
  }),
  args: ['id']
} as const satisfies CommandDescriptor

export function previewCommandHandler({ settings, newsroom, channels }: Dependencies): CommandHandler {
  return async (input, io) => {
    const { id, channels: names, width } = input as { id: string; channels?: string[]; width?: number }
    const only = newsroom.channelNames(names)
    const item = await newsroom.item(id, io.signal)
    const previews = await previewsOf(item, channels(), settings(), only)
    const digest = digestOf(item, settings())
    if (io.json) {
      io.stdout.write(`${JSON.stringify({ id: item.id, title: item.title, digest, channels: previews })}\n`)
      return
    }
    const columns = width ?? defined({ columns: io.stdout.columns }).columns ?? DEFAULT_WIDTH
    const shown = previews.length === 0 ? 'The item is sent to no channel.\n' : sideBySide(previews, columns)
    io.stdout.write(`${item.id}  ${digest}\n\n${shown}`)
  }
}
