const MIN_SENTENCE_LENGTH = 14

/** Hedging words. */
const SPECULATIVE =
  /\b(?:may|might|could|would|should|perhaps|possibly|probably|likely|maybe|seems?|appears?|suggests?|think|believe|guess|assume|expect|unclear|unknown|uncertain|hopefully|presumably)\b/i

/** Start of a sentence that reports a past or planned action instead of a fact. */
const PROCEDURAL =
  /^(?:(?:i|we|it|this|the (?:task|change|agent)|also|then|next|first|second|finally|please|now|and)\b[\s,]*)*(?:have |has |had |was |were |been |be |is |are )*(?:add|adjust|allow|appl|build|built|bump|call|chang|check|clean|complet|configur|convert|creat|delet|document|drop|edit|ensur|extend|extract|fix|handl|implement|improv|includ|instal|introduc|mov|next|pass|port|ran\b|re-?ran|read\b|refactor|remov|renam|replac|resolv|rewrit|rewrote|run\b|see\b|set\b|simplif|split|test|tidied|tr(?:y|ied)|updat|upgrad|us(?:e|ed|ing)\b|validat|verif|will\b|wir|wr(?:ite|ote|itten))/i

/** Returns true if text states facts: a sentence is long enough, does not hedge, and does not just report an action. */
export function statesFacts(text: string): boolean {
  for (const part of text.split(/[.!?\n]+/)) {
    const sentence = part.trim().slice(0, 1_000)
    if (sentence.length >= MIN_SENTENCE_LENGTH && !SPECULATIVE.test(sentence) && !PROCEDURAL.test(sentence)) return true
  }
  return false
}
