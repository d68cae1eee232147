const when = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

export const whenWords = (time: string) => when.format(new Date(time));
