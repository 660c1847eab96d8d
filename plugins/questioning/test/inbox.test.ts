import type { InboxItem } from '@svc/contracts'
import t from 'tap'
import { candidate, choice } from './candidate.ts'
import { openWorld } from './open-world.ts'

type World = Awaited<ReturnType<typeof openWorld>>

async function inboxOf({ kernel }: World): Promise<readonly InboxItem[]> {
  const { items } = (await kernel.callById('questioning.inbox', {})) as { readonly items: readonly InboxItem[] }
  return items
}

t.test('the inbox has an answer of one click for each option, and an answer in words', async t => {
  const world = await openWorld(t)
  t.same(await inboxOf(world), [])
  await world.service.consider(choice())
  await world.service.consider(candidate({ session_id: 'a/b', prompt: 'which port?' }))
  const [first, second] = await inboxOf(world)
  t.match(first, { kind: 'question', title: 'which database?', link: '/ui/p/sessions/sessions/s' })
  t.same(
    first?.answers.map(({ label, ask }) => [label, ask]),
    [
      ['SQLite', undefined],
      [first?.answers[1]?.label, undefined],
      ['Other answer', ['answer_text']]
    ]
  )
  t.match(second, { link: '/ui/p/sessions/sessions/a%2Fb', answers: [{ label: 'Answer', ask: ['answer_text'] }] })
  const [option] = first?.answers ?? []
  await world.kernel.callById(option?.operation ?? '', option?.input)
  const [words] = second?.answers ?? []
  await world.kernel.callById(words?.operation ?? '', { ...words?.input, answer_text: '8080' })
  t.same(await inboxOf(world), [])
})

t.test('without a database the inbox is empty', async t => {
  t.same(await inboxOf(await openWorld(t, {}, { database: false })), [])
})
