import { childArgument } from './child.ts'
import type { ContestantOptions, Question } from './contestant.ts'
import { engines } from './engines.ts'

const { engine, options } = childArgument<ContestantOptions>()
const opened = await engines[engine]?.(options)
process.on('message', async ({ prompt, count, reusePrefix }: Question) =>
  process.send?.(await opened?.generate(prompt, count, reusePrefix))
)
process.send?.('ready')
