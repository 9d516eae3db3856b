/*
 * births: tasks that are born, call themselves something, wait for a lock and end.
 *
 *   births FOLDER COUNT [AT_ONCE]
 *
 * AT_ONCE processes (2) share COUNT births. Each of the tasks renames itself b<number>, and makes and removes a file
 * in FOLDER, whose lock they all want.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void live(const char *folder, long number)
{
	char name[16], path[4096];
	snprintf(name, sizeof name, "b%ld", number);
	prctl(PR_SET_NAME, name);
	snprintf(path, sizeof path, "%s/%d", folder, getpid());
	int file = open(path, O_CREAT | O_WRONLY, 0600);
	if (file < 0)
		_exit(1);
	close(file);
	unlink(path);
	_exit(0);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	long count = atol(argv[2]), at_once = argc > 3 ? atol(argv[3]) : 2, failed = 0;
	for (long worker = 0; worker < at_once; worker++) {
		if (fork() != 0)
			continue;
		for (long number = worker; number < count; number += at_once) {
			pid_t child = fork();
			int status = 1;
			if (child == 0)
				live(argv[1], number);
			if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0)
				failed++;
		}
		_exit(failed != 0);
	}
	int status, worst = 0;
	while (wait(&status) > 0)
		worst |= status != 0;
	return worst;
}
