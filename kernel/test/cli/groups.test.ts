import t from 'tap'
import { type CommandNode, commandTree } from '#cli'
import { ownManifests } from '../../../tools/docs.ts'

/** Returns all groups below a node, by their words. A command with subcommands is described by its summary. */
function groupsIn(node: CommandNode, path: readonly string[] = []): { words: string; node: CommandNode }[] {
  return [...node.children].flatMap(([word, child]) => {
    const words = [...path, word]
    const isGroup = child.children.size > 0 && child.command === undefined
    return [...(isGroup ? [{ words: words.join(' '), node: child }] : []), ...groupsIn(child, words)]
  })
}

t.test('every command group has its own description', async t => {
  const manifests = await ownManifests()
  const summaries = new Set(manifests.map(({ summary }) => summary))
  const groups = groupsIn(commandTree(manifests))
  t.ok(groups.length > 15, `${groups.length} groups`)
  for (const { words, node } of groups) {
    t.ok(node.about, `svc ${words} has a description`)
    t.notOk(summaries.has(node.about ?? ''), `svc ${words}: add its description to kernel/src/cli/groups.ts`)
    t.notMatch(node.about, /\.$/, words)
  }
  const described = groups.map(({ node }) => node.about)
  t.equal(new Set(described).size, described.length, 'no two groups have the same description')
})
