import { speechRecogniserSuite } from '@svc/contracts/conformance'
import t from 'tap'
import { openWorld } from './world.ts'

const world = await openWorld()
world.write('note.md', '# A note\n')
const { recogniser } = world
const text = { path: 'note.md', content: '# A note\n' }
for (const { name, run } of speechRecogniserSuite({ recogniser, recording: 'tones.wav', text })) t.test(name, run)
t.teardown(() => world.close())
