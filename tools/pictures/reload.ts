import { arrow, box, type Picture, rule, text } from './drawing.ts'

export function reloadPicture(): Picture {
  return {
    title: 'Hot reload: from one generation to the next',
    description:
      'When a file is saved, svc compiles the plugin, plans which units change, activates the new units while the old ones serve, and lets every surface prepare. Then it switches one pointer. Calls that began before the switch end on the old code; calls that begin after it run the new code. Old units are drained and disposed. If a step before the switch fails, the change is undone and nothing has changed.',
    width: 1100,
    height: 480,
    parts: [
      text(30, 40, 'A plugin is saved while svc serves', 'head'),
      ...steps(),
      rule(200, 30, 1070),
      text(30, 228, 'generation 7', 'name'),
      `<rect class="kernel" x="150" y="212" width="490" height="36" rx="6"/>`,
      `<rect class="shadow" x="640" y="212" width="300" height="36" rx="6"/>`,
      text(164, 235, 'serves'),
      text(654, 235, 'drains: ends what it has begun'),
      text(30, 296, 'generation 8', 'name'),
      `<rect class="shadow" x="390" y="280" width="250" height="36" rx="6"/>`,
      `<rect class="kernel" x="640" y="280" width="430" height="36" rx="6"/>`,
      text(404, 303, 'shadow: active, no calls'),
      text(654, 303, 'serves'),
      text(30, 360, 'calls', 'name'),
      `<rect class="plugin" x="300" y="344" width="200" height="26" rx="5"/>`,
      `<rect class="plugin" x="560" y="344" width="250" height="26" rx="5"/>`,
      text(312, 362, 'old code'),
      text(572, 362, 'began before the switch: old code'),
      `<rect class="plugin" x="660" y="378" width="260" height="26" rx="5"/>`,
      text(672, 396, 'begins after it: new code'),
      `<path class="way faint" d="M640 204 V420" style="marker-end:none"/>`,
      text(640, 436, 'the switch', 'small mid'),
      text(30, 458, 'A failure left of the line undoes the change: generation 7 goes on serving.'),
      text(1070, 458, 'ctx.keep hands sockets and caches to the next unit.', 'small end')
    ]
  }
}

function steps(): string[] {
  const all = [
    ['1  Read', 'compile with esbuild;', 'read the settings', 'loader/bundle.ts'],
    ['2  Plan', 'add, replace, remove,', 'keep; a dry run ends', 'core/plan.ts'],
    ['3  Shadow', 'activate, compose,', 'surfaces prepare', 'core/shadow.ts'],
    ['4  Switch', 'generation and surfaces', 'at once', 'core/kernel.ts'],
    ['5  Retire', 'drain users, then', 'providers; dispose', 'core/retirement.ts']
  ] as const
  return all.flatMap(([title, first, second, file], at) => {
    const x = 30 + at * 211
    const part = box({
      x,
      y: 66,
      width: 196,
      height: 106,
      kind: at === 2 ? 'shadow' : 'kernel',
      title,
      lines: [first, second],
      file
    })
    return at === 0 ? [part] : [part, arrow(`M${x - 15} 119 H${x - 3}`)]
  })
}
