import { defineOperation, definePlugin, hook, t } from '@svc/plugin-sdk'

export const countWords = defineOperation({
  id: 'words.count',
  summary: 'Count the words in a text',
  input: t.object({ text: t.string({ maxLength: 1_000_000, description: 'Text whose words are counted' }) }),
  output: t.object({ words: t.integer(), longest: t.string(), generation: t.integer() }),
  errors: { WORDS_NONE: { status: 422, message: 'The text has no words of min_length or more characters.' } },
  effect: 'read',
  expose: {
    http: { method: 'POST', path: '/words/count' },
    mcp: true,
    rpc: true,
    cli: { command: 'words count', args: ['text'] }
  }
})

/** A kernel hook, declared by its id, so that the plugin needs no package for it. */
const flipped = hook<[{ generation: number }]>('kernel.flipped', 'parallel', { onError: 'skip' })

export default definePlugin({
  name: 'word-count',
  summary: 'Counts words',
  config: t.object({
    min_length: t.integer({
      default: 1,
      minimum: 1,
      description: 'Minimum length of a counted word, in characters',
      'x-reload': 'live'
    })
  }),
  operations: [countWords],
  activate(ctx) {
    let generation = 0
    ctx.on(flipped, change => {
      generation = change.generation
    })
    ctx.implement(countWords, ({ text }, call) => {
      const words = text.split(/\s+/u).filter(word => word !== '' && [...word].length >= ctx.config.min_length)
      if (words.length === 0) call.fail('WORDS_NONE')
      const longest = words.reduce((best, word) => (word.length > best.length ? word : best))
      return { words: words.length, longest, generation }
    })
  }
})
