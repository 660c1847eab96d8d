import type { StubFinding, StubScanner } from '@svc/contracts'

/** Scanner that finds the words "not implemented" in TypeScript files. */
export const fakeScanner: StubScanner = {
  scanTexts: async texts =>
    texts.map(({ path, text }) => {
      if (!path.endsWith('.ts')) return { path, state: 'skipped', findings: [] }
      const findings = text.split('\n').flatMap((line, at): StubFinding[] =>
        line.includes('not implemented')
          ? [
              {
                ruleId: 'stub/throw-not-implemented',
                ruleName: 'throws "not implemented"',
                severity: 'error',
                file: path,
                line: at + 1,
                column: 1,
                message: 'the error says that the code is not implemented',
                context: line
              }
            ]
          : []
      )
      return { path, state: 'scanned', findings }
    })
}
