import { loadedModelSuite } from '@svc/contracts/conformance'
import t from 'tap'
import { ToyEngine } from './toy-engine.ts'

const engine = new ToyEngine()
const suite = loadedModelSuite({
  load: options => engine.load({ runDirectory: '/nowhere', ...options }),
  prompt: 'to be or not to be, that is the question\n',
  texts: ['plain', 'naïve 日本 🚀', '<|im_start|>user']
})

for (const { name, run } of suite) t.test(`the toy model ${name}`, run)
