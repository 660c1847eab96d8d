/** Topic of all changes of publications. */
export const PUBLICATION_TOPIC = 'publication.publications'
