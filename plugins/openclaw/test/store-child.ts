import { newRecord, SkillStore } from '#root'

// Installs new versions of a skill in the folder of its argument until it is killed.
const store = new SkillStore(process.argv[2] as string)
const origin = { source: 'http://gateway.test', trust: 'community', now: 1 } as const
for (let version = 1; ; version++) {
  const text = `text ${version}`
  const skill = { id: 'w', namespace: 'n', name: 'w', version: String(version), description: '' }
  const found = { ...skill, contentHash: null, author: null, metadata: {}, text: null }
  await store.install(newRecord('w', found, text, origin), text)
  process.stdout.write(`${version}\n`)
}
