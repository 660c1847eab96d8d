import t from 'tap'
import { parameterSize } from '#ollama'

t.test('model sizes are abbreviated', async t => {
  t.same([135_000, 3_200_000, 494_000_000, 7_615_616_512, 70_000_000_000].map(parameterSize), [
    '135K',
    '3.2M',
    '494M',
    '7.6B',
    '70.0B'
  ])
})
